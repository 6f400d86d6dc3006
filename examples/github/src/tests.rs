use lathe_guest::testing::{Reply, TestHost};

use super::*;

type Host = TestHost<Github>;

const ISSUE: &str = "https://api.github.com/repos/ada/engine/issues/7";

fn answer(number: u64, body: &str) -> Value {
    json!({
        "number": number, "title": "It stops", "state": "open", "body": body, "comments": 2,
        "html_url": format!("https://github.com/ada/engine/issues/{number}"),
        "labels": [{ "id": 1, "name": "bug" }, { "id": 2, "name": "help wanted" }],
        "user": { "login": "grace", "id": 3 }, "updated_at": "2026-11-20T10:00:00Z", "node_id": "x",
    })
}

fn shown(number: u64) -> Value {
    json!({
        "number": number, "title": "It stops", "state": "open", "isPullRequest": false,
        "labels": ["bug", "help wanted"], "author": "grace", "comments": 2,
        "updatedAt": "2026-11-20T10:00:00Z", "url": format!("https://github.com/ada/engine/issues/{number}"),
    })
}

fn issue(host: &Host) -> Result<Value, ToolError> {
    host.call_tool("issue", json!({ "owner": "ada", "repo": "engine", "number": 7 }))
}

/// What the model reads of an answer that is none.
fn refused(reply: Reply) -> String {
    let host = Host::new();
    host.respond("GET", ISSUE, reply);
    issue(&host).unwrap_err().to_string()
}

#[test]
fn an_issue_is_read() {
    let host = Host::new();
    host.respond("GET", ISSUE, Reply::json(200, answer(7, "After a week.\n")));
    let mut expected = shown(7);
    expected["body"] = json!("After a week.");
    assert_eq!(issue(&host), Ok(expected));
}

#[test]
fn a_long_body_is_shortened_by_characters() {
    let host = Host::new();
    host.set_settings(json!({ "bodyCharacters": 5 }));
    host.respond("GET", ISSUE, Reply::json(200, answer(7, "äöü äöü äöü")));
    assert_eq!(issue(&host).unwrap()["body"], "äöü ä… (6 more characters)");
}

#[test]
fn what_github_leaves_out_is_left_out() {
    let host = Host::new();
    let mut pull = answer(7, "");
    pull["body"] = Value::Null;
    pull["user"] = Value::Null;
    pull["pull_request"] = json!({ "url": "x" });
    host.respond("GET", ISSUE, Reply::json(200, pull));
    let issue = issue(&host).unwrap();
    assert_eq!((&issue["body"], &issue["isPullRequest"]), (&json!(""), &json!(true)));
    assert_eq!(issue.get("author"), None);
}

#[test]
fn open_issues_are_searched_for() {
    let host = Host::new();
    let url = "https://api.github.com/search/issues?q=repo%3Aada%2Fengine%20is%3Aissue%20is%3Aopen%20label%3A%22help%20wanted%22%20caf%C3%A9&sort=updated&per_page=2";
    let answer =
        json!({ "total_count": 12, "incomplete_results": false, "items": [answer(8, "x"), answer(7, "y")] });
    host.respond("GET", url, Reply::json(200, answer));
    let input =
        json!({ "owner": "ada", "repo": "engine", "query": "café", "labels": ["help wanted"], "limit": 2 });
    assert_eq!(host.call_tool("issues", input), Ok(json!({ "total": 12, "issues": [shown(8), shown(7)] })));
}

#[test]
fn a_repository_is_two_names() {
    let host = Host::new();
    for (owner, repo) in
        [("ada", "../user"), ("..", "engine"), ("", "engine"), ("ada", "a b"), ("ada", "x?y=1")]
    {
        let input = json!({ "owner": owner, "repo": repo, "number": 7 });
        let error = ToolError::InvalidInput(format!("\"{owner}/{repo}\" is no repository"));
        assert_eq!(host.call_tool("issue", input), Err(error));
    }
    assert!(host.calls().iter().all(|call| call.function != "http.send"), "{:?}", host.calls());
}

#[test]
fn refusals_are_told_apart() {
    let with = |reply: Reply, headers: &[(&str, &str)]| {
        let mut reply = reply;
        reply.headers.extend(headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        reply
    };
    let said = |status: u16| Reply::json(status, json!({ "message": "Own words" }));
    let spent = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1795219200")];
    assert!(refused(said(404)).starts_with("not found on GitHub"));
    assert!(refused(said(401)).contains("does not accept"));
    for status in [403, 429] {
        assert_eq!(
            refused(with(said(status), &spent)),
            "GitHub's rate limit is reached; it resets at 2026-11-21T00:00:00Z"
        );
    }
    let secondary = with(said(403), &[("retry-after", "60")]);
    assert_eq!(refused(secondary), "GitHub's rate limit is reached; try again in a minute");
    assert_eq!(refused(said(403)), "GitHub answered 403 Forbidden: Own words");
    let detail =
        json!({ "message": "Validation Failed", "errors": [{ "message": "cannot be searched" }, {}] });
    assert_eq!(
        refused(Reply::json(422, detail)),
        "GitHub answered 422 Unprocessable Entity: Validation Failed: cannot be searched"
    );
    assert_eq!(refused(Reply::text(502, "<html>")), "GitHub answered 502 Bad Gateway");
    assert!(refused(Reply::text(200, "<html>")).starts_with("GitHub's answer could not be read: "));
}

#[test]
fn a_repository_that_was_renamed_is_found_and_no_other_host_is_asked() {
    let moved = |to: &str| {
        let mut reply = Reply::json(301, json!({ "message": "Moved Permanently" }));
        reply.headers.push(("location".to_owned(), to.to_owned()));
        reply
    };
    let host = Host::new();
    host.respond("GET", ISSUE, moved("https://api.github.com/repositories/1/issues/7"));
    host.respond("GET", "https://api.github.com/repositories/1/issues/7", Reply::json(200, answer(7, "x")));
    assert_eq!(issue(&host).unwrap()["number"], 7);
    assert!(refused(moved("https://example.org/")).contains("has not granted"));
    assert!(refused(moved(ISSUE)).starts_with("GitHub answered 301"), "once and no more");
}

#[test]
fn without_the_grant_it_says_what_to_add() {
    let host = Host::new();
    host.grant(Permissions::default());
    let error = issue(&host).unwrap_err().to_string();
    assert!(error.contains("network = [\"api.github.com\"]"), "{error}");
}

#[test]
fn no_server_is_told() {
    let error = issue(&Host::new()).unwrap_err().to_string();
    assert!(error.starts_with("GitHub was not reached: "), "{error}");
}

#[test]
fn the_manifest_asks_for_one_host() {
    let manifest = Host::new().manifest();
    assert_eq!(manifest.permissions.network, ["api.github.com"]);
    assert!(manifest.tools.iter().all(|tool| tool.input_schema.contains("owner")));
}
