use lathe_guest::testing::TestHost;
use lathe_guest::{Manifest, Replay};

use super::*;

fn add(input: Value) -> Result<Value, ToolError> {
    TestHost::<Clock>::new().call_tool("add_duration", input)
}

fn time(time: &str, duration: &str, zone: &str) -> String {
    let moment = add(json!({ "time": time, "duration": duration, "timeZone": zone })).unwrap();
    moment["time"].as_str().unwrap().to_owned()
}

fn invalid(result: Result<Value, ToolError>) -> String {
    match result {
        Err(ToolError::InvalidInput(text)) => text,
        other => panic!("no invalid input: {other:?}"),
    }
}

#[test]
fn now_is_one_moment_in_every_field() {
    let before = Timestamp::now().as_second();
    let now = TestHost::<Clock>::new().call_tool("now", json!({ "timeZone": "Asia/Kolkata" })).unwrap();
    let time: Zoned = now["time"].as_str().unwrap().parse().unwrap();
    let seconds = now["unixSeconds"].as_i64().unwrap();
    assert_eq!(time.timestamp(), Timestamp::from_second(seconds).unwrap());
    assert!((before..=before + 60).contains(&seconds));
    assert_eq!(time.offset().to_string(), "+05:30");
    assert_eq!(now["timeZone"], "Asia/Kolkata");
    assert_eq!(now["weekday"], time.strftime("%A").to_string());
}

#[test]
fn now_is_utc_by_default() {
    let now = TestHost::<Clock>::new().call_tool("now", json!({})).unwrap();
    assert_eq!(now["timeZone"], "UTC");
    assert!(now["time"].as_str().unwrap().ends_with("+00:00[UTC]"), "{now}");
}

#[test]
fn a_sum_has_every_field() {
    assert_eq!(
        add(json!({ "time": "2024-02-28T22:00Z", "duration": "P1DT2H" })),
        Ok(json!({
            "time": "2024-03-01T00:00:00+00:00[UTC]",
            "timeZone": "UTC",
            "weekday": "Friday",
            "unixSeconds": 1_709_251_200,
        }))
    );
}

#[test]
fn a_day_is_a_calendar_day_when_clocks_go_forward() {
    let start = "2026-03-28T12:00";
    assert_eq!(time(start, "1 day", "Europe/Berlin"), "2026-03-29T12:00:00+02:00[Europe/Berlin]");
    assert_eq!(time(start, "24 hours", "Europe/Berlin"), "2026-03-29T13:00:00+02:00[Europe/Berlin]");
}

#[test]
fn a_day_is_a_calendar_day_when_clocks_go_back() {
    let start = "2026-10-31T12:00";
    assert_eq!(time(start, "P1D", "America/New_York"), "2026-11-01T12:00:00-05:00[America/New_York]");
    assert_eq!(time(start, "PT24H", "America/New_York"), "2026-11-01T11:00:00-05:00[America/New_York]");
}

#[test]
fn the_hour_that_comes_twice_is_told_apart() {
    let start = "2026-10-25T00:30:00Z";
    assert_eq!(time(start, "PT0S", "Europe/Berlin"), "2026-10-25T02:30:00+02:00[Europe/Berlin]");
    assert_eq!(time(start, "PT1H", "Europe/Berlin"), "2026-10-25T02:30:00+01:00[Europe/Berlin]");
}

#[test]
fn a_local_time_that_clocks_skip_moves_on() {
    assert_eq!(time("2026-03-29T02:30", "PT0S", "Europe/Berlin"), "2026-03-29T03:30:00+02:00[Europe/Berlin]");
    assert_eq!(time("2026-03-28T02:30", "P1D", "Europe/Berlin"), "2026-03-29T03:30:00+02:00[Europe/Berlin]");
}

#[test]
fn a_month_ends_where_it_ends() {
    assert_eq!(time("2026-01-31", "1 month", "UTC"), "2026-02-28T00:00:00+00:00[UTC]");
    assert_eq!(time("2024-02-29", "1 year", "UTC"), "2025-02-28T00:00:00+00:00[UTC]");
}

#[test]
fn durations_go_back_too() {
    assert_eq!(time("2026-01-01T00:00Z", "-PT90M", "UTC"), "2025-12-31T22:30:00+00:00[UTC]");
    assert_eq!(time("2026-01-08", "1 week ago", "UTC"), "2026-01-01T00:00:00+00:00[UTC]");
    assert_eq!(time("2026-01-01", "2 days 3h", "UTC"), "2026-01-03T03:00:00+00:00[UTC]");
}

#[test]
fn the_time_tells_the_zone_if_nobody_else_does() {
    let of = |time: &str| add(json!({ "time": time, "duration": "PT1H" })).unwrap();
    let moment = of("2026-07-01T12:00[Europe/Berlin]");
    assert_eq!(moment["time"], "2026-07-01T13:00:00+02:00[Europe/Berlin]");
    let moment = of("2026-07-01T12:00-03:30");
    assert_eq!(
        (&moment["time"], &moment["timeZone"]),
        (&json!("2026-07-01T13:00:00-03:30[-03:30]"), &json!("-03:30"))
    );
    assert_eq!(of("2026-07-01T12:00")["timeZone"], "UTC");
}

#[test]
fn a_given_zone_wins() {
    let moment = time("2026-07-01T12:00[Europe/Berlin]", "PT0S", "Asia/Tokyo");
    assert_eq!(moment, "2026-07-01T19:00:00+09:00[Asia/Tokyo]");
}

#[test]
fn without_a_time_it_is_now() {
    let moment = add(json!({ "duration": "PT1H" })).unwrap();
    let ahead = moment["unixSeconds"].as_i64().unwrap() - Timestamp::now().as_second();
    assert!((3540..=3600).contains(&ahead), "{ahead}");
}

#[test]
fn unknown_zones_are_named_with_near_ones() {
    let unknown =
        |zone: &str| invalid(TestHost::<Clock>::new().call_tool("now", json!({ "timeZone": zone })));
    assert_eq!(unknown("Europe/Berlni"), "unknown time zone `Europe/Berlni`; did you mean Europe/Berlin?");
    assert!(unknown("new york").contains("America/New_York"));
    assert!(unknown("US/Kolkata").contains("Asia/Kolkata"));
    assert_eq!(unknown("Middle-earth"), "unknown time zone `Middle-earth`");
    let text = invalid(add(json!({ "time": "2026-07-01T12:00[Europe/Berlinn]", "duration": "PT1H" })));
    assert!(text.contains("did you mean Europe/Berlin?"), "{text}");
}

#[test]
fn zone_names_have_no_case() {
    assert!(time("2026-01-01", "PT0S", "europe/berlin").ends_with("[Europe/Berlin]"));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let refused = |time: &str, duration: &str| invalid(add(json!({ "time": time, "duration": duration })));
    assert!(refused("tomorrow", "PT1H").starts_with("`tomorrow` is no time"));
    assert!(refused("2026-02-30", "PT1H").starts_with("`2026-02-30` is no time"));
    assert!(refused("2026-07-01T12:00+05:00[Europe/Berlin]", "PT1H").contains("is no time"));
    refused("2026-01-01", "soon");
    refused("9999-12-31T00:00Z", "1 year");
    invalid(add(json!({ "time": "2026-01-01" })));
    invalid(add(json!({ "duration": 7 })));
}

#[test]
fn the_manifest_describes_the_tools() {
    let Manifest { name, hooks, tools, .. } = TestHost::<Clock>::new().manifest();
    assert_eq!((name.as_str(), hooks.len(), tools.len()), ("clock", 0, 2));
    assert_eq!(tools[0].description, "The current date and time in a time zone.");
    assert_eq!(tools[0].replay, Replay::Safe);
    let schema: Value = tools[1].input_schema.parse().unwrap();
    assert_eq!(schema["required"], json!(["duration"]));
    assert_eq!(schema["type"], "object");
    assert_eq!(
        schema["properties"]["timeZone"]["description"],
        "IANA name, such as Europe/Berlin. The zone or offset of the time if absent, or else UTC."
    );
    assert_eq!(TestHost::<Clock>::new().call_tool("later", json!({})), Err(ToolError::UnknownTool));
}
