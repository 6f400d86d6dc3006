//! The rules that need no settings.

/// Tools that run commands, by what they are usually called.
pub(crate) const TOOLS: &str = "*{bash,command,exec,powershell,shell,terminal}*";

/// A pattern, and what it is against.
pub(crate) struct Builtin {
    /// Without one of these in it, a text is not read further: that costs a hundredth of a pattern.
    pub(crate) words: &'static [&'static str],
    pub(crate) pattern: &'static str,
    pub(crate) reason: &'static str,
}

/// Words may be in quotes; what ends a command may follow.
pub(crate) const RULES: [Builtin; 6] = [
    Builtin {
        words: &["rm ", "rm\t"],
        pattern: r#"(?x) \b rm \s+ (?: -\S+ \s+ )* (?: -\w*[rR]\w* | --recursive ) \s+ (?: -\S+ \s+ )*
           ["']? (?: / | ~ /? | \$\{?HOME\}? /? | [A-Za-z]:\\ ) \*? ["']? (?: [\s;&|)] | $ )"#,
        reason: "it removes everything below / or the home folder",
    },
    Builtin {
        words: &["--no-preserve-root"],
        pattern: r"\brm\s[^;&|\n]*--no-preserve-root",
        reason: "it removes everything below /",
    },
    Builtin { words: &["()"], pattern: r"[\w:]+\s*\(\)\s*\{[^}]*\|[^}]*&\s*\}", reason: "it is a fork bomb" },
    Builtin {
        words: &["curl", "wget"],
        pattern: r"(?x) \b (?: curl | wget ) \b [^;\n]* \| \s* (?: sudo \s+ (?: -\S+ \s+ )* )? (?: \S*/ )?
           (?: (?: ba | da | fi | k | z )? sh \b
               | (?: node | perl | python3? | ruby ) \s* (?: $ | [;&|)] | - (?: \s | $ ) ) )",
        reason: "it runs what it has just downloaded",
    },
    Builtin {
        words: &["curl", "wget"],
        pattern: r#"(?x) (?: \b (?: ba | da | k | z )? sh \s+ -c | \b eval | \b source | \. ) \s+ ["']? (?: \$\( | ` | <\( ) \s* (?: curl | wget ) \b
           | \b (?: ba | z )? sh \s+ <\( \s* (?: curl | wget ) \b"#,
        reason: "it runs what it has just downloaded",
    },
    Builtin {
        words: &["/dev/"],
        pattern: r"(?x) \b mkfs (?: \.\w+ )? \s+ .* /dev/ | \b dd \b .* \b of=/dev/(?: sd | hd | nvme | vd | disk | mmcblk )
           | > \s* /dev/(?: sd | hd | nvme | vd | disk | mmcblk )",
        reason: "it overwrites a disk",
    },
];
