use std::path::Path;

use lathe::config::Config;
use lathe_tests::binary::Folder;
use serde_json::Value;

#[test]
fn what_is_asked_and_not_granted_is_told_with_the_line_to_add() {
    let ran = Folder::new().with(&["courier"]).lathe(&["ext", "list"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for line in [
        "`workspace = { dir = \"FOLDER\", access = \"read-write\" }` under [extension.courier.grant]",
        "`network = [\"localhost\", \"127.0.0.1\", \"*.test\"]`",
        "`messages = true`",
    ] {
        assert_eq!(ran.err.matches(line).count(), 1, "{line}: {}", ran.err);
    }
    assert!(ran.out.contains("ready"), "it loads without: {}", ran.out);
}

#[test]
fn what_is_granted_and_not_asked_has_no_effect_and_is_told() {
    let folder = Folder::new().with(&["calc"]);
    folder.write("lathe.toml", "[extension.calc.grant]\nmessages = true\nnetwork = [\"*\"]");
    let ran = folder.lathe(&["ext", "list"]);
    assert!(ran.err.contains("which has no effect: network *, messages"), "{}", ran.err);
    assert!(!ran.out.contains("messages"), "{}", ran.out);
}

#[test]
fn a_folder_with_what_the_host_runs_cannot_be_written() {
    let folder = Folder::new().with(&["courier"]);
    folder.write("work/note.txt", "");
    folder.write("state/note.txt", "");
    let granted = |dir: &str| {
        let workspace = format!("workspace = {{ dir = \"{dir}\", access = \"read-write\" }}");
        folder.write("lathe.toml", format!("data = \"state\"\n[extension.courier.grant]\n{workspace}"));
        let ran = folder.lathe(&["ext", "list", "--json"]);
        let told = ran.err.contains("whoever writes there can make the host do anything");
        let listed: Value = serde_json::from_str(&ran.out).unwrap();
        (listed[0]["permissions"]["granted"]["workspace"].is_object(), told)
    };
    assert_eq!(granted("work"), (true, false));
    for dir in [".", "state", "extensions"] {
        assert_eq!(granted(dir), (false, true), "{dir}");
    }
}

#[test]
fn a_secret_is_listed_by_the_name_of_its_variable() {
    let folder = Folder::new().with(&["courier"]);
    let header = "headers = { authorization = { env = \"COURIER_KEY\" } }";
    folder.write(
        "lathe.toml",
        format!("[extension.courier.grant]\nnetwork = [{{ host = \"a.test\", {header} }}]"),
    );
    let mut command = folder.command(&["ext", "list", "--json"]);
    command.env("COURIER_KEY", "s3cret");
    let ran = lathe_tests::binary::ran(command);
    assert!(ran.out.contains("COURIER_KEY"), "{}", ran.out);
    assert!(!ran.out.contains("s3cret") && !ran.err.contains("s3cret"));
}

#[test]
fn a_mistake_in_a_grant_is_shown_with_its_line() {
    for (grant, said) in [
        ("workspace = \"work\"", "lathe.toml:2:13: invalid type: string \"work\", expected a table"),
        ("workspace = {}", "lathe.toml:2:13: missing key `dir`"),
        (
            "workspace = { dir = \"w\", access = \"all\" }",
            "lathe.toml:2:35: `all` is none of read, read-write",
        ),
        ("messages = 1", "lathe.toml:2:12: invalid type: integer `1`, expected a boolean"),
        (
            "network = [\"https://a.org\"]",
            "lathe.toml:2:12: \"https://a.org\" is no host: only the name belongs here, without scheme and path",
        ),
        (
            "network = [\"a.org\",\n  { host = \"b.org\", port = 1 }]",
            "lathe.toml:3:21: there is no key `port` here; known are host, methods, ports, http, private, \
             addresses, headers, request-bytes, response-bytes",
        ),
        (
            "network = [{ host = \"b.org\", headers = { host = { env = \"X\" } } }]",
            "lathe.toml:2:42: the header \"host\" cannot be set: it belongs to the connection",
        ),
    ] {
        let text = format!("[extension.a.grant]\n{grant}");
        let mistake = Config::parse(&text, Path::new("lathe.toml")).unwrap_err();
        assert_eq!(mistake.to_string(), said);
    }
}
