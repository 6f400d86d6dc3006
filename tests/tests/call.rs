//! `lathe call` and `lathe budget`, by the real binary.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use lathe_tests::binary::{Folder, Ran};
use serde_json::{Value, json};

const CALC: &str = "extensions/calc.wasm";

fn json_of(ran: &Ran) -> Value {
    let value = serde_json::from_str(&ran.out);
    assert!(value.is_ok(), "{ran:?}");
    value.unwrap()
}

fn calc(folder: &Folder, expression: &str) -> Ran {
    let input = json!({"expression": expression}).to_string();
    folder.lathe(&["call", CALC, "tool", "evaluate", "--input", &input])
}

#[test]
fn a_tool_answers_on_standard_output_and_its_cost_is_beside_it() {
    let folder = Folder::new().with(&["calc"]);
    let ran = calc(&folder, "21 * 2");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(json_of(&ran), json!({"result": "42", "exact": true}));
    for word in [" ms, ", " fuel, ", " bytes of memory, ", " bytes answered, 0 denied\n"] {
        assert!(ran.err.contains(word), "{ran:?}");
    }
    assert!(!folder.path().join(".lathe/lathe.db").exists(), "the database was to be a temporary one");
    // The name that models know is as good, and so is standard input.
    let args = ["call", CALC, "tool", "calc_evaluate", "--input", "-", "--json"];
    let all = json_of(&folder.lathe_with(&args, br#"{"expression": "1 + 1"}"#));
    assert_eq!((&all["extension"], &all["tool"]), (&json!("calc"), &json!("calc_evaluate")));
    assert_eq!(all["answer"]["result"], "2");
    for field in ["durationMs", "fuel", "memoryBytes", "outputBytes"] {
        assert!(all[field].as_f64().unwrap() > 0.0, "{all}");
    }
    assert_eq!((&all["denied"], &all["log"]), (&json!(0), &json!([])));
}

#[test]
fn an_input_that_does_not_fit_is_refused_as_in_a_turn() {
    let folder = Folder::new().with(&["calc"]);
    let ran = folder.lathe(&["call", CALC, "tool", "evaluate", "--input", r#"{"expression": []}"#]);
    assert_eq!((ran.code, &*ran.out), (Some(1), ""), "{ran:?}");
    assert!(ran.err.contains("Invalid input for tool \"calc_evaluate\": /expression"), "{ran:?}");
    let own = calc(&folder, "1 +");
    assert_eq!((own.code, &*own.out), (Some(1), ""), "{own:?}");
    assert!(own.err.contains("error: the extension \"calc\", tool calc_evaluate: "), "{own:?}");
}

#[test]
fn what_is_typed_wrong_is_told_with_what_is_there() {
    let folder = Folder::new().with(&["calc", "house-rules"]);
    for (args, said) in [
        (
            &["call", CALC, "tool", "evaluat"][..],
            "calc has no tool \"evaluat\"\nhint: did you mean evaluate?",
        ),
        (&["call", CALC, "tool", "x"], "calc has no tool \"x\"\nhint: there are the tools evaluate"),
        (
            &["call", CALC, "hook", "beforeTrun"],
            "there is no hook \"beforeTrun\"\nhint: did you mean beforeTurn?",
        ),
        (&["call", CALC, "hook", "on-chunk"], "calc does not subscribe to onChunk"),
        (&["call", CALC, "tool", "evaluate", "--input", "{"], "the input is not JSON: EOF"),
        (&["call", CALC, "tool", "evaluate", "--settings", "[]"], "the settings must be a JSON object"),
        (&["call", "none.wasm", "tool", "x"], "none.wasm"),
        (
            &["call", "extensions/house-rules.wasm", "hook", "before-turn", "--input", r#"{"sistem": ""}"#],
            "unknown field `sistem`, expected one of `system`",
        ),
        (&["budget", CALC, "--script", "none.jsonl"], "cannot read the script none.jsonl"),
    ] {
        let ran = folder.lathe(args);
        assert_eq!((ran.code, &*ran.out), (Some(2), ""), "{args:?} {ran:?}");
        assert!(ran.err.contains(said), "{args:?} {ran:?}");
    }
}

#[test]
fn a_hook_is_shown_defaults_and_what_is_typed() {
    let folder = Folder::new().with(&["house-rules", "meter"]);
    folder.write("lathe.toml", "[extension.house-rules]\nsettings = { rules = [\"Be brief.\"] }\n");
    let rules = ["call", "extensions/house-rules.wasm", "hook", "before-turn"];
    let answer = json_of(&folder.lathe(&rules));
    assert!(answer["system"].as_str().unwrap().ends_with("- Be brief."), "{answer}");
    let typed = ["--input", r#"{"system": "SYS"}"#, "--settings", r#"{"rules": ["Rhyme."]}"#];
    let answer = json_of(&folder.lathe(&[&rules[..], &typed].concat()));
    let system = answer["system"].as_str().unwrap();
    assert!(system.starts_with("SYS") && system.contains("Rhyme.") && !system.contains("brief"), "{answer}");

    let meter = ["call", "extensions/meter.wasm", "hook", "onChunk", "--data", "kept", "--json"];
    let seen = json_of(&folder.lathe(&meter));
    assert_eq!((&seen["answer"], &seen["hook"]), (&json!(null), &json!("onChunk")));
    assert!(folder.path().join("kept/lathe.db").exists());
}

#[test]
fn a_gate_without_the_grant_is_heard_but_does_not_count() {
    let folder = Folder::new().with(&["gate"]);
    let args =
        ["call", "extensions/gate.wasm", "hook", "before-tool-call", "--settings", r#"{"call": "block"}"#];
    let fixed = json!({"action": "block", "reason": "Blocked by the extension \"gate\"."});
    let ran = folder.lathe(&args);
    assert_eq!((ran.code, json_of(&ran)), (Some(0), fixed.clone()));
    assert!(ran.err.contains("in a turn this answer does not count"), "{ran:?}");
    folder.write("lathe.toml", "[extension.gate.grant]\ndecide = [\"beforeToolCall\"]\n");
    let all = json_of(&folder.lathe(&[&args[..], &["--json"]].concat()));
    assert_eq!((&all["answer"], &all["counts"]), (&fixed, &json!(true)));
}

#[test]
fn a_guest_that_panics_says_where() {
    let folder = Folder::new().with(&["rogue"]);
    let args = ["call", "extensions/rogue.wasm", "tool", "act", "--settings", r#"{"do": "panic"}"#];
    let ran = folder.lathe(&args);
    assert_eq!((ran.code, &*ran.out), (Some(1), ""), "{ran:?}");
    let mut lines = ran.err.lines();
    let first = lines.next().unwrap();
    assert!(first.starts_with("error: the extension \"rogue\", tool rogue_act: it trapped: "), "{}", ran.err);
    assert_eq!(
        lines.next(),
        Some("on purpose (wasm trap: wasm `unreachable` instruction executed), in rogue::deliberate")
    );
    assert_eq!(ran.err.matches("on purpose").count(), 1, "it is told once: {}", ran.err);
    let args =
        ["call", "extensions/rogue.wasm", "hook", "onChunk", "--settings", r#"{"do": "panic"}"#, "--json"];
    let ran = folder.lathe(&args);
    let all = json_of(&ran);
    assert_eq!((ran.code, &all["failure"]), (Some(1), &json!("trap")));
    assert!(all["error"]["message"].as_str().unwrap().contains("on purpose"), "{all}");
    assert!(
        all["backtrace"].as_array().unwrap().iter().any(|frame| frame.to_string().contains("deliberate"))
    );
}

#[test]
fn a_guest_that_panics_in_a_turn_says_where() {
    let folder = Folder::new().with(&["rogue"]);
    folder.write("lathe.toml", "[extension.rogue.settings]\ndo = \"panic\"\n");
    let script = json!([{"toolCalls": [{"id": "c", "name": "rogue_act", "input": {}}]}, {"text": ["done"]}]);
    folder.write("script.json", script.to_string());
    let run = ["run", "--model", "scripted:script.json", "go"];
    let ran = folder.lathe(&run);
    assert_eq!((ran.code, &*ran.out), (Some(0), "done\n"), "{ran:?}");
    let told = ran.err.lines().find(|line| line.starts_with("rogue_act {} failed: ")).unwrap();
    let start = "rogue_act {} failed: extension \"rogue\": it trapped: ";
    let end = ": on purpose (wasm trap: wasm `unreachable` instruction executed), in rogue::deliberate";
    assert!(told.starts_with(start) && told.ends_with(end), "{told}");
    let logged = folder.lathe(&["ext", "logs", "rogue"]).out;
    assert!(logged.contains("[host] the tool rogue_act failed: it trapped: "), "{logged}");
    let ran = folder.lathe(&["run", "--data", "other", "--json", "--model", "scripted:script.json", "go"]);
    let events = ran.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let cost = events.into_iter().find(|event| event["type"] == "tool-cost").unwrap();
    assert_eq!((&cost["extension"], &cost["toolName"]), (&json!("rogue"), &json!("rogue_act")));
    let error = cost["error"].as_str().unwrap();
    assert!(error.contains("on purpose") && error.ends_with(", in rogue::deliberate"), "{error}");
}

#[test]
fn limits_and_denials_are_those_of_a_turn() {
    let folder = Folder::new().with(&["rogue"]);
    folder.write("lathe.toml", "[extension.rogue.limits]\nfuel-per-call = 20000000\n");
    let act = ["call", "extensions/rogue.wasm", "tool", "act", "--json", "--settings"];
    let looped = json_of(&folder.lathe(&[&act[..], &[r#"{"do": "loop"}"#]].concat()));
    assert_eq!(looped["failure"], "outOfFuel");
    assert!(looped["fuel"].as_u64().unwrap() >= 20_000_000, "{looped}");
    let denied = json_of(&folder.lathe(&[&act[..], &[r#"{"do": "denied"}"#]].concat()));
    assert_eq!(denied["denied"], 2, "{denied}");
    assert!(!denied["log"].as_array().unwrap().is_empty(), "{denied}");
}

#[test]
fn a_script_becomes_limits_that_can_be_pasted() {
    let folder = Folder::new().with(&["calc", "meter", "rogue"]);
    folder.write(
        "calls.jsonl",
        "{\"tool\": \"evaluate\", \"input\": {\"expression\": \"1 + 1\"}, \"repeat\": 5}\n\n\
         {\"tool\": \"evaluate\", \"input\": {\"expression\": \"2 ^ 64\"}}\n",
    );
    let ran = folder.lathe(&["budget", CALC, "--script", "calls.jsonl"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let row = ran.out.lines().find(|line| line.starts_with("calc_evaluate")).unwrap();
    assert_eq!(row.split_whitespace().nth(1), Some("6"), "{ran:?}");
    assert!(ran.out.contains("4 times the fuel and 2 times the memory"), "{ran:?}");
    let block = &ran.out[ran.out.find("[extension.calc.limits]").unwrap()..];
    folder.write("lathe.toml", block);
    // With them, what was measured still runs.
    assert_eq!(calc(&folder, "2 ^ 64").code, Some(0), "{block}");

    let script =
        br#"[{"hook": "before-turn"}, {"hook": "on-chunk", "repeat": 20}, {"hook": "on-chat-response"}]"#;
    let ran = folder.lathe_with(&["budget", "extensions/meter.wasm", "--script", "-", "--json"], script);
    let all = json_of(&ran);
    let calls: Vec<u64> =
        all["calls"].as_array().unwrap().iter().map(|row| row["calls"].as_u64().unwrap()).collect();
    assert_eq!(calls, [1, 20, 1], "{all}");
    let limits = &all["limits"];
    let (call, turn) = (limits["fuel-per-call"].as_u64().unwrap(), limits["fuel-per-turn"].as_u64().unwrap());
    let most = all["calls"].as_array().unwrap().iter().map(|row| row["fuel"]["most"].as_u64().unwrap()).max();
    assert!(call >= 4 * most.unwrap() && turn > call, "{all}");
}

#[test]
fn a_script_that_fails_suggests_nothing() {
    let folder = Folder::new().with(&["rogue"]);
    let script = br#"{"tool": "act", "repeat": 3}"#;
    let budget = ["budget", "extensions/rogue.wasm", "--script", "-", "--settings", r#"{"do": "panic"}"#];
    let ran = folder.lathe_with(&budget, script);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("rogue_act: ") && !ran.out.contains("[extension."), "{ran:?}");
    let unknown = folder.lathe_with(&budget, b"{\"tool\": \"act\"}\n{\"tool\": \"akt\"}");
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    assert!(
        unknown.err.contains("entry 2 of the script: rogue has no tool \"akt\"\nhint: did you mean act?")
    );
}
