use std::fs;

use serde_json::{Value, json};

use super::stage::Stage;

const READ: &str = "workspace = { dir = \"work\" }";
const WRITE: &str = "workspace = { dir = \"work\", access = \"read-write\" }";

/// With a folder `work` that has a file and a folder, and a secret beside it.
fn stage(grant: &str) -> Stage {
    let stage = Stage::new(grant);
    fs::create_dir_all(stage.path().join("work/deep")).unwrap();
    fs::write(stage.path().join("work/note.txt"), "a note").unwrap();
    fs::write(stage.path().join("work/deep/er.txt"), "deeper").unwrap();
    fs::write(stage.path().join("secret.txt"), "a secret").unwrap();
    stage
}

fn read(path: &str) -> Value {
    json!({"do": "read", "path": path})
}

fn write(path: &str) -> Value {
    json!({"do": "write", "path": path, "text": "new"})
}

#[tokio::test]
async fn without_a_grant_there_is_no_file() {
    let stage = stage("");
    let deeds = json!([read("/workspace/note.txt"), write("/workspace/new.txt"), {"do": "list", "path": "/"}, read("/etc/passwd")]);
    for result in stage.act(deeds).await {
        assert!(result.is_string() && !result.as_str().unwrap().contains(' '), "an error's kind: {result}");
    }
    assert!(!stage.path().join("work/new.txt").exists());
}

#[tokio::test]
async fn a_granted_folder_is_the_workspace() {
    let deeds = json!([read("/workspace/note.txt"), read("/workspace/deep/er.txt"), {"do": "list", "path": "/workspace"}]);
    assert_eq!(stage(READ).act(deeds).await, [json!("a note"), json!("deeper"), json!(["deep", "note.txt"])]);
}

#[tokio::test]
async fn a_folder_to_read_cannot_be_written() {
    let stage = stage(READ);
    let deeds = json!([
        write("/workspace/new.txt"),
        write("/workspace/note.txt"),
        {"do": "remove", "path": "/workspace/note.txt"},
        {"do": "link", "target": "note.txt", "path": "link"},
    ]);
    let results = stage.act(deeds).await;
    assert!(results.iter().all(Value::is_string), "{results:?}");
    assert_eq!(fs::read_to_string(stage.path().join("work/note.txt")).unwrap(), "a note");
    assert_eq!(fs::read_dir(stage.path().join("work")).unwrap().count(), 2);
}

#[tokio::test]
async fn a_folder_to_write_can_be_written() {
    let stage = stage(WRITE);
    let deeds = json!([
        write("/workspace/deep/new.txt"),
        {"do": "remove", "path": "/workspace/note.txt"},
        read("/workspace/deep/new.txt"),
    ]);
    assert_eq!(stage.act(deeds).await, [Value::Null, Value::Null, json!("new")]);
    assert_eq!(fs::read_to_string(stage.path().join("work/deep/new.txt")).unwrap(), "new");
    assert!(!stage.path().join("work/note.txt").exists());
}

#[tokio::test]
async fn no_path_leads_out() {
    let stage = stage(WRITE);
    let absolute = stage.path().join("secret.txt").display().to_string();
    let deeds = json!([
        read("/workspace/../secret.txt"),
        read("/workspace/deep/../../secret.txt"),
        read("../secret.txt"),
        read("/etc/passwd"),
        read(&absolute),
        write("/workspace/../planted.txt"),
        {"do": "list", "path": "/workspace/.."},
    ]);
    for result in stage.act(deeds).await {
        assert!(result.is_string() && result != "a secret", "{result}");
    }
    assert!(!stage.path().join("planted.txt").exists());
}

#[cfg(unix)]
#[tokio::test]
async fn no_link_leads_out() {
    use std::os::unix::fs::symlink;

    let stage = stage(WRITE);
    let work = stage.path().join("work");
    symlink(stage.path().join("secret.txt"), work.join("absolute")).unwrap();
    symlink("../secret.txt", work.join("relative")).unwrap();
    symlink("..", work.join("deep/up")).unwrap();
    symlink("../..", work.join("deep/out")).unwrap();
    let deeds = json!([
        read("/workspace/absolute"),
        read("/workspace/relative"),
        read("/workspace/deep/out/secret.txt"),
        write("/workspace/absolute"),
        {"do": "list", "path": "/workspace/deep/out"},
        {"do": "link", "target": "../secret.txt", "path": "own"},
        read("/workspace/own"),
        {"do": "link", "target": "/etc/passwd", "path": "passwd"},
        read("/workspace/passwd"),
        read("/workspace/deep/up/note.txt"),
    ]);
    let results = stage.act(deeds).await;
    let (inside, outside) = results.split_last().unwrap();
    assert_eq!(inside, "a note", "a link that stays inside is a file like another");
    for result in outside {
        let said = result.to_string();
        assert!(!said.contains("secret") && !said.contains("root"), "{said}");
    }
    assert_eq!(fs::read_to_string(stage.path().join("secret.txt")).unwrap(), "a secret");
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_not_granted() {
    let results = Stage::new(WRITE).act(json!([read("/workspace/note.txt")])).await;
    assert!(results[0].is_string(), "{results:?}");
}
