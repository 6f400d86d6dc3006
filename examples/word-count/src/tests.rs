use lathe_guest::testing::TestHost;

use super::*;

fn returned(host: &TestHost<WordCount>, output: Value) -> Option<Value> {
    let call = ToolResult { tool_name: "read".to_owned(), result: Ok(output), ..ToolResult::default() };
    host.after_tool_call(call).unwrap().and_then(|change| change.output)
}

#[test]
fn it_counts() {
    let host = TestHost::<WordCount>::new();
    let counted = host.call_tool("count", json!({ "text": "one two\nthree" }));
    assert_eq!(counted, Ok(json!({ "words": 3, "lines": 2, "characters": 13 })));
}

#[test]
fn long_texts_are_cut() {
    let host = TestHost::<WordCount>::new();
    host.set_settings(json!({ "longest": 2 }));
    assert_eq!(returned(&host, json!("one  two three four")), Some(json!("one  two … (words left out: 2)")));
    assert_eq!(host.stored("cut").as_deref(), Some("2"));
    assert_eq!(host.log()[0].message, "cut 2 words off what read returned");
}

#[test]
fn what_is_short_or_no_text_stays() {
    let host = TestHost::<WordCount>::new();
    host.set_settings(json!({ "longest": 2 }));
    for output in [json!("one two"), json!(" one two "), json!({ "text": "one two three" }), json!(null)] {
        assert_eq!(returned(&host, output), None);
    }
}

#[test]
fn nothing_may_be_left() {
    let host = TestHost::<WordCount>::new();
    host.set_settings(json!({ "longest": 0 }));
    assert_eq!(returned(&host, json!("one")), Some(json!(" … (words left out: 1)")));
}

#[test]
fn settings_that_do_not_fit_are_refused() {
    let host = TestHost::<WordCount>::new();
    host.set_settings(json!({ "longest": "ten" }));
    let error = host.after_tool_call(ToolResult::default()).unwrap_err().to_string();
    assert!(error.contains("do not fit"), "{error}");
}
