use lathe_guest::ErrorInfo;
use lathe_guest::testing::TestHost;

use super::*;

type Host = TestHost<Redact>;

fn output(host: &Host, output: Value) -> Option<Value> {
    let call = ToolResult { tool_name: "read".to_owned(), result: Ok(output), ..ToolResult::default() };
    host.after_tool_call(call).unwrap().map(|change| change.output.unwrap())
}

/// What becomes of a text by the default settings.
fn masked(text: &str) -> String {
    output(&Host::new(), json!(text))
        .map_or_else(|| text.to_owned(), |text| text.as_str().unwrap().to_owned())
}

/// In two parts, so that no scanner of repositories takes this file for a leak.
fn github() -> String {
    ["ghp", "_", "0123456789abcdefghijABCDEFGHIJ012345"].concat()
}

#[test]
fn each_known_kind_is_masked_wherever_it_stands() {
    let key = "A1b2".repeat(10);
    for (secret, kind) in [
        ("AKIAIOSFODNN7EXAMPLE".to_owned(), "awsKey"),
        (github(), "githubToken"),
        (format!("github_pat_{key}"), "githubToken"),
        (format!("glpat-{key}"), "gitlabToken"),
        (format!("AIza{}", &key[..35]), "googleKey"),
        (format!("eyJ{key}.eyJ{key}.{key}"), "jwt"),
        (format!("npm_{}", &key[..36]), "npmToken"),
        (format!("sk-proj-{key}"), "skKey"),
        (format!("xoxb-{key}"), "slackToken"),
        (format!("sk_live_{key}"), "stripeKey"),
        (
            format!("-----BEGIN RSA PRIVATE KEY-----\n{key}\n{key}\n-----END RSA PRIVATE KEY-----"),
            "privateKey",
        ),
        (format!("-----BEGIN PGP PRIVATE KEY BLOCK-----\n{key}"), "privateKey"),
    ] {
        let mask = format!("[redacted: {kind}]");
        assert_eq!(masked(&secret), mask);
        assert_eq!(masked(&format!("é '{secret}")), format!("é '{mask}"));
        assert_eq!(masked(&format!(r"a\n{secret}")), format!(r"a\n{mask}"), "JSON inside a text");
    }
}

#[test]
fn what_stands_around_a_secret_stays() {
    let key = "A1b2".repeat(10);
    for (text, left) in [
        (format!("authorization: Bearer {key}, more"), "authorization: Bearer [redacted: bearerToken], more"),
        (format!("aws_secret_access_key = {key}\nx"), "aws_secret_access_key = [redacted: awsSecret]\nx"),
        (
            format!(r#"{{\"SecretAccessKey\": \"{key}\"}}"#),
            r#"{\"SecretAccessKey\": \"[redacted: awsSecret]\"}"#,
        ),
        ("postgres://ada:pass@db/x".to_owned(), "postgres://ada:[redacted: urlPassword]@db/x"),
    ] {
        assert_eq!(masked(&text), left);
    }
}

#[test]
fn what_only_looks_alike_is_left() {
    for text in [
        "",
        "AKIA is what the keys of AWS begin with, ghp_ those of GitHub",
        "a risk-management-consideration-of-length",
        "bearer of bad news: authentication",
        "https://example.org:8080/a@b",
        "eyJ.eyJ.x and eyJhbGciOiJIUzI1NiJ9 alone",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    ] {
        assert_eq!(masked(text), text);
    }
}

#[test]
fn a_value_is_walked_through() {
    let host = Host::new();
    let (secret, mask) = (github(), "[redacted: githubToken]");
    let value = json!({
        "list": [1, null, true, secret, { "deep": format!("{secret} and {secret}") }],
        secret.clone(): "a", "[redacted: githubToken]": "b",
        "api_key": "no form at all", "password": 7, "Client-Secret": "", "token": "page 2",
    });
    let seen = output(&host, value).unwrap();
    assert_eq!(
        seen,
        json!({
            "list": [1, null, true, mask, { "deep": format!("{mask} and {mask}") }],
            mask: "a", "[redacted: githubToken]_": "b",
            "api_key": "[redacted: field]", "password": 7, "Client-Secret": "", "token": "page 2",
        })
    );
    assert_eq!(host.log()[0].message, "masked in the output of read: 1 field, 4 githubToken");
}

#[test]
fn inputs_are_masked_before_they_run() {
    let host = Host::new();
    let call = |input: Value| ToolCall { tool_name: "send".to_owned(), input, ..ToolCall::default() };
    assert_eq!(
        host.before_tool_call(call(json!({ "text": format!("it is {}", github()) }))),
        Ok(Some(ToolDecision::Allow(Some(json!({ "text": "it is [redacted: githubToken]" })))))
    );
    assert_eq!(host.before_tool_call(call(json!({ "text": "it is 7" }))), Ok(None));
    let host = Host::new();
    host.set_settings(json!({ "inputs": false }));
    assert_eq!(host.before_tool_call(call(json!({ "text": github() }))), Ok(None));
    assert!(output(&host, json!(github())).is_some());
}

#[test]
fn an_error_is_masked_and_stays_one() {
    let error = ErrorInfo { name: "Error".to_owned(), message: format!("{} was refused", github()) };
    let change = Host::new().after_tool_call(ToolResult { result: Err(error), ..ToolResult::default() });
    let output = Some(json!("[redacted: githubToken] was refused"));
    assert_eq!(change, Ok(Some(ToolOverride { output, ..ToolOverride::default() })));
}

#[test]
fn the_operator_adds_patterns_and_takes_kinds_away() {
    let host = Host::new();
    host.set_settings(json!({
        "patterns": { "badge": "\\bB-[0-9]{4}\\b", "pin": "PIN ([0-9]+)" },
        "without": ["githubToken"], "fields": ["Pet"],
    }));
    assert_eq!(
        output(
            &host,
            json!({ "text": format!("B-1234, PIN 99, {}", github()), "pet": "cat", "password": "x" })
        ),
        Some(json!({
            "text": format!("[redacted: badge], PIN [redacted: pin], {}", github()),
            "pet": "[redacted: field]", "password": "x",
        }))
    );
}

#[test]
fn of_patterns_that_overlap_one_mask_is_left() {
    let host = Host::new();
    host.set_settings(json!({ "patterns": { "a": "abc", "b": "bcd", "c": "b" } }));
    assert_eq!(output(&host, json!("_abcd_")), Some(json!("_[redacted: a]_")));
}

#[test]
fn nothing_of_a_secret_is_logged() {
    let host = Host::new();
    output(&host, json!({ "password": "hunter2", "text": github() })).unwrap();
    let log = format!("{:?}", host.log());
    assert!(!log.contains("hunter2") && !log.contains("0123456789"), "{log}");
}

#[test]
fn a_pattern_that_is_none_closes_the_gate() {
    let host = Host::new();
    host.set_settings(json!({ "patterns": { "mine": "(" } }));
    let error = host.after_tool_call(ToolResult::default()).unwrap_err().to_string();
    assert!(error.starts_with("the pattern \"mine\" of the settings is not usable: "), "{error}");
}

/// In the sandbox, a search that reads on from every beginning would run out of fuel.
#[test]
fn a_text_full_of_beginnings_is_read_about_once() {
    for kind in &kind::KINDS {
        for prefix in kind.prefixes {
            masked(&prefix.repeat(30_000 / prefix.len()));
            masked(&format!("{prefix} ").repeat(30_000 / prefix.len()));
        }
    }
}

#[test]
fn the_manifest_asks_to_decide() {
    let manifest = Host::new().manifest();
    assert_eq!(manifest.permissions.decide, [Hook::BeforeToolCall, Hook::AfterToolCall]);
    assert!(manifest.settings_schema.unwrap().contains("urlPassword"));
}
