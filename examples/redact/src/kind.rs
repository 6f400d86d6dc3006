//! The secrets that have a form of their own.

use lathe_guest::prelude::*;

/// A kind of secret, and what its texts look like.
pub(crate) struct Kind {
    pub(crate) name: Name,
    /// What each begins with. Looked for before the pattern is: a search for a plain text costs next to nothing.
    pub(crate) prefixes: &'static [&'static str],
    /// A regular expression from the prefix on. Where it has a group, the group alone is masked.
    pub(crate) pattern: &'static str,
    /// It does not begin in the middle of a word: its prefix is too short, or its pattern reads on too far.
    pub(crate) is_word: bool,
}

/// The name of a kind, as it stands in place of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Name {
    AwsKey,
    AwsSecret,
    BearerToken,
    GithubToken,
    GitlabToken,
    GoogleKey,
    Jwt,
    NpmToken,
    PrivateKey,
    SkKey,
    SlackToken,
    StripeKey,
    UrlPassword,
}

impl Name {
    pub(crate) fn text(self) -> String {
        json!(self).as_str().unwrap_or_default().to_owned()
    }
}

const fn any(name: Name, prefixes: &'static [&'static str], pattern: &'static str) -> Kind {
    Kind { name, prefixes, pattern, is_word: false }
}

const fn word(name: Name, prefixes: &'static [&'static str], pattern: &'static str) -> Kind {
    Kind { name, prefixes, pattern, is_word: true }
}

/// Each but a private key ends where its characters do, so a text with many beginnings is still read about once.
pub(crate) static KINDS: [Kind; 13] = [
    any(Name::AwsKey, &["AKIA", "ASIA"], "^....[A-Z0-9]{16}"),
    any(
        Name::AwsSecret,
        &["aws_secret_access_key", "AWS_SECRET_ACCESS_KEY", "SecretAccessKey"],
        r#"^(?:(?i:aws_secret_access_key)|SecretAccessKey)\\?["']?\s*[:=]\s*\\?["']?([A-Za-z0-9/+]{40})"#,
    ),
    any(Name::BearerToken, &["Bearer ", "bearer ", "BEARER "], r"^(?i:bearer) +([A-Za-z0-9._~+/-]{20,}=*)"),
    any(
        Name::GithubToken,
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        "^(?:gh._[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})",
    ),
    any(Name::GitlabToken, &["glpat-"], "^glpat-[A-Za-z0-9_-]{20,}"),
    any(Name::GoogleKey, &["AIza"], "^AIza[A-Za-z0-9_-]{35}"),
    word(Name::Jwt, &["eyJ"], r"^eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    any(Name::NpmToken, &["npm_"], "^npm_[A-Za-z0-9]{36}"),
    // One without an end was cut off: all the rest is of it.
    any(
        Name::PrivateKey,
        &["-----BEGIN "],
        r"^-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\z)",
    ),
    word(Name::SkKey, &["sk-"], "^sk-[A-Za-z0-9_-]{20,}"),
    any(
        Name::SlackToken,
        &["xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-"],
        "^xox.-[A-Za-z0-9-]{10,}",
    ),
    any(Name::StripeKey, &["sk_live_", "sk_test_", "rk_live_", "rk_test_"], "^.._...._[A-Za-z0-9]{16,}"),
    any(Name::UrlPassword, &["://"], r"^://[^\s/:@]*:([^\s/@]+)@"),
];
