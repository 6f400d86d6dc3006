//! The rules that need no settings.

/// Tools that run commands, by what they are usually called.
pub(crate) const TOOLS: &str = "*{bash,command,exec,powershell,shell,terminal}*";

/// Patterns, and what they are against. Words may be in quotes; what ends a command may follow.
pub(crate) const RULES: [(&str, &str); 6] = [
    (
        r#"(?x) \b rm \s+ (?: -\S+ \s+ )* (?: -\w*[rR]\w* | --recursive ) \s+ (?: -\S+ \s+ )*
           ["']? (?: / | ~ /? | \$\{?HOME\}? /? | [A-Za-z]:\\ ) \*? ["']? (?: [\s;&|)] | $ )"#,
        "it removes everything below / or the home folder",
    ),
    (r"\brm\s[^;&|\n]*--no-preserve-root", "it removes everything below /"),
    (r"[\w:]+\s*\(\)\s*\{[^}]*\|[^}]*&\s*\}", "it is a fork bomb"),
    (
        r"(?x) \b (?: curl | wget ) \b [^;\n]* \| \s* (?: sudo \s+ (?: -\S+ \s+ )* )? (?: \S*/ )?
           (?: (?: ba | da | fi | k | z )? sh | python3? | perl | node | ruby ) \b",
        "it runs what it has just downloaded",
    ),
    (
        r#"(?x) (?: \b (?: ba | da | k | z )? sh \s+ -c | \b eval | \b source | \. ) \s+ ["']? (?: \$\( | ` | <\( ) \s* (?: curl | wget ) \b
           | \b (?: ba | z )? sh \s+ <\( \s* (?: curl | wget ) \b"#,
        "it runs what it has just downloaded",
    ),
    (
        r"(?x) \b mkfs (?: \.\w+ )? \s+ .* /dev/ | \b dd \b .* \b of=/dev/(?: sd | hd | nvme | vd | disk | mmcblk )
           | > \s* /dev/(?: sd | hd | nvme | vd | disk | mmcblk )",
        "it overwrites a disk",
    ),
];
