//! No room to write, or no right to.

use std::process::Command;

use lathe::turn::{TurnStatus, UiMessage};
use lathe_tests::binary::{Folder, Ran, lathe};
use lathe_tests::house::says;
use lathe_tests::tool::FnTool;
use serde_json::{Value, json};

use super::{PATIENCE, agent, ends_well, rows, run, turn};

/// A longer answer than there is room for.
fn long() -> Value {
    json!([{"text": vec!["a word and another one ".repeat(40); 1_000]}])
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("script.json", json!([says("a short answer")]).to_string());
    folder.write("long.json", long().to_string());
    folder
}

/// What is left is what was acknowledged, and there is room again.
async fn is_there_and_works(folder: &Folder, where_: &str) {
    let ran = run(folder.command(&["doctor"])).await;
    assert_eq!(ran.code, Some(0), "{where_}: {ran:?}");
    let ran = run(folder.command(&["sessions", "show", "work"])).await;
    assert!(ran.out.contains("a short answer"), "{where_}: {ran:?}");
    let ran = turn(folder, "work").await;
    assert_eq!(ran.code, Some(0), "{where_}: {ran:?}");
    assert!(ran.out.contains("a short answer"), "{where_}: {ran:?}");
    let left = rows::number(&folder.path().join(".lathe"), "SELECT count(*) FROM turns");
    assert_eq!(left, 0, "{where_}: nothing is left over");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_may_not_grow_cost_the_turn_and_nothing_that_is_there() {
    let (mut failed, mut begun) = (0, 0);
    // From not even the first write to nearly all of the turn, in units of 512 bytes.
    for blocks in [0, 40, 72, 90, 150, 300, 600, 1_200] {
        let folder = folder();
        assert_eq!(turn(&folder, "work").await.code, Some(0));
        let mut command = Command::new("sh");
        // A file that is too long must be an error, as a full disk is one, and not the end of the process.
        let limited = "trap '' XFSZ; ulimit -f $0; exec \"$@\"";
        command.args(["-c", limited, &blocks.to_string()]).arg(lathe());
        command.args(["run", "--json", "--model", "scripted:long.json", "--session", "work", "more"]);
        command.current_dir(folder.path());
        let ran = run(command).await;
        let where_ = format!("{blocks} blocks");
        let told = ran.err.contains("error") || ran.out.contains("\"error\"");
        assert!(matches!(ran.code, Some(1 | 2)) && told, "{where_}: {}", ran.err);
        assert!(!ran.err.contains("panicked"), "{where_}: {}", ran.err);
        failed += 1;
        begun += usize::from(ran.out.contains("text-delta"));
        is_there_and_works(&folder, &where_).await;
    }
    assert!(begun > 0 && begun < failed, "{begun} of {failed} got as far as an answer");
}

#[tokio::test]
async fn a_host_that_could_not_write_for_a_while_goes_on_when_it_can() {
    let script = json!([{"text": ["half", {"holdMs": 120}, " of it"],
        "toolCalls": [{"id": "c", "name": "look", "input": {}}]}, says(" and whole")]);
    for (what, may_pass) in [
        ("INSERT ON messages", false),
        ("UPDATE ON messages", true),
        ("INSERT ON turns", false),
        ("UPDATE ON turns", false),
        ("DELETE ON turns", false),
        ("INSERT ON turn_chunks", false),
        ("DELETE ON turn_chunks", false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let look = || FnTool::answers("look", json!("seen")).arc();
        let (store, _, host) = agent(folder.path(), &script, |agent| agent.tool(look())).await;
        let session = host.session("work").await.unwrap();
        rows::sql(
            folder.path(),
            &format!("CREATE TRIGGER full BEFORE {what} BEGIN SELECT RAISE(ABORT, 'no room'); END"),
        );
        let result = session.send("a first question").await.unwrap().finish().await;
        let told = result.error.is_some_and(|error| error.contains("no room"));
        assert_eq!(result.status == TurnStatus::Error, told, "{what}");
        assert!(told || may_pass, "{what}: {:?}", result.status);
        rows::sql(folder.path(), "DROP TRIGGER full");
        let result = session.send("a second question").await.unwrap().finish().await;
        assert_eq!(result.status, TurnStatus::Completed, "{what}: {:?}", result.error);
        assert!(result.text.ends_with(" and whole"), "{what}: {}", result.text);
        drop((session, host));
        store.close().await;
        // What could not be noted as over is found by the next process.
        let (store, _, host) =
            agent(folder.path(), &json!([says("again")]), |agent| agent.tool(look())).await;
        for session in host.recover().await.unwrap() {
            assert!(session.wait_until_stable(PATIENCE).await, "{what}");
        }
        let messages = host.session("work").await.unwrap().messages().await.unwrap();
        assert!(messages.iter().any(|message| message.text() == "a second question"), "{what}");
        assert!(messages.iter().flat_map(UiMessage::tools).all(|tool| tool.state.is_settled()), "{what}");
        drop(host);
        store.close().await;
        for table in ["turns", "turn_chunks", "incidents"] {
            let left = rows::number(folder.path(), &format!("SELECT count(*) FROM {table}"));
            assert_eq!(left, 0, "{what}: {table}");
        }
    }
}

/// A shell, where it may mount a folder of its own.
fn mounts() -> Option<Command> {
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c"]);
    let mut probe = Command::new("unshare");
    probe.args(["-rm", "sh", "-c", "mount -t tmpfs -o size=64k none /mnt"]);
    probe.output().is_ok_and(|done| done.status.success()).then_some(command)
}

#[tokio::test(flavor = "multi_thread")]
#[allow(clippy::print_stderr, reason = "it says why it does nothing")]
async fn a_full_disk_costs_the_turn_and_nothing_that_is_there() {
    let Some(mut command) = mounts() else {
        return eprintln!("skipped: this user may not mount a small disk");
    };
    let folder = folder();
    std::fs::create_dir(folder.path().join(".lathe")).unwrap();
    // The disk is gone with the shell: what is on it is copied out at the end.
    let steps = "set -e; mount -t tmpfs -o size=700k none .lathe; \
        \"$0\" run --model scripted:script.json --session work hi; echo first $?; \
        \"$0\" run --model scripted:long.json --session work more && echo no error; echo second $?; \
        mkdir kept; cp -r .lathe/. kept";
    command.arg(steps).arg(lathe()).current_dir(folder.path());
    let Ran { code, out, err } = run(command).await;
    assert!(code == Some(0) && out.contains("first 0") && !out.contains("no error"), "{out}\n{err}");
    assert!(err.contains("full") && !err.contains("panicked"), "{err}");
    std::fs::remove_dir(folder.path().join(".lathe")).unwrap();
    std::fs::rename(folder.path().join("kept"), folder.path().join(".lathe")).unwrap();
    is_there_and_works(&folder, "a full disk").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_folder_that_is_none_is_named() {
    let folder = folder();
    // Of root nothing can be kept by permissions; of nobody a file can be made a folder.
    folder.write(".lathe", "a file");
    for args in [&["sessions", "list"][..], &["doctor"]] {
        ends_well(&run(folder.command(args)).await, ".lathe is a file");
    }
    let ran = turn(&folder, "work").await;
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains(".lathe"), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
#[allow(clippy::print_stderr, reason = "it says why it does nothing")]
async fn a_data_folder_that_can_only_be_read_is_named() {
    let Some(mut command) = mounts() else {
        return eprintln!("skipped: this user may not mount a folder read-only");
    };
    let folder = folder();
    assert_eq!(turn(&folder, "work").await.code, Some(0));
    let steps = "mount --bind .lathe .lathe && mount -o remount,bind,ro .lathe || exit 77; \
        exec \"$0\" run --model scripted:script.json --session work hi";
    command.arg(steps).arg(lathe()).current_dir(folder.path());
    let ran = run(command).await;
    if ran.code == Some(77) {
        return eprintln!("skipped: this user may not mount a folder read-only: {}", ran.err);
    }
    ends_well(&ran, "read-only");
    assert!(ran.code == Some(2) && ran.err.contains("lathe.db"), "{ran:?}");
    is_there_and_works(&folder, "read-only").await;
}
