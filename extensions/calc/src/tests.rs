use lathe_guest::testing::TestHost;

use super::*;

fn evaluate(expression: &str) -> Result<Value, ToolError> {
    TestHost::<Calc>::new().call_tool("evaluate", json!({ "expression": expression }))
}

#[track_caller]
fn exactly(expression: &str, result: &str) {
    assert_eq!(evaluate(expression), Ok(json!({ "result": result, "exact": true })), "{expression}");
}

#[track_caller]
fn fraction(expression: &str, fraction: &str, result: &str) {
    let shown = json!({ "result": result, "exact": false, "fraction": fraction });
    assert_eq!(evaluate(expression), Ok(shown), "{expression}");
}

#[track_caller]
fn about(expression: &str, result: &str) {
    assert_eq!(evaluate(expression), Ok(json!({ "result": result, "exact": false })), "{expression}");
}

#[track_caller]
fn wrong(expression: &str, part: &str) {
    match evaluate(expression) {
        Err(ToolError::InvalidInput(text)) if text.contains(part) => {}
        other => panic!("{expression}: {other:?}"),
    }
}

#[test]
fn decimals_are_exact() {
    exactly("0.1 + 0.2", "0.3");
    exactly("(1.1 + 2.2) * 3", "9.9");
    exactly("1 - 0.9", "0.1");
    exactly("-0.05 * 3", "-0.15");
    exactly("1 / 8", "0.125");
    exactly("2.50 * 4", "10");
    exactly(".5 + 5.", "5.5");
    exactly("6.02e23 / 1e20", "6020");
    exactly("1.5E-3", "0.0015");
}

#[test]
fn fractions_keep_their_value() {
    fraction("1/3", "1/3", "0.33333333333333333333333333333333333333333333333333");
    fraction("-2/3", "-2/3", "-0.66666666666666666666666666666666666666666666666667");
    fraction("10^9 / 7", "1000000000/7", "142857142.85714285714285714285714285714285714285714");
    fraction(
        "1 / 3^60",
        "1/42391158275216203514294433201",
        "2.358982487592572857011028712757869837785916913206e-29",
    );
    exactly("1/3 + 1/6", "0.5");
    exactly("1/3 * 3", "1");
}

#[test]
fn operators_bind_as_in_books() {
    exactly("2 + 3 * 4", "14");
    exactly("(2 + 3) * 4", "20");
    exactly("10 - 4 - 3", "3");
    exactly("100 / 10 / 5", "2");
    exactly("2 ^ 3 ^ 2", "512");
    exactly("2 ** 10", "1024");
    exactly("-2 ^ 2", "-4");
    exactly("(-2) ^ 2", "4");
    exactly("2 ^ -2", "0.25");
    exactly("2 ^ -1 * 4", "2");
    exactly("2 * -3", "-6");
    exactly("--5 - +2", "3");
    exactly("-3!", "-6");
    exactly("2 ^ 3!", "64");
    exactly("(3!)!", "720");
    exactly("6 × 7 − 84 ÷ 2", "0");
}

#[test]
fn remainders_have_the_sign_of_the_right() {
    exactly("7 % 3", "1");
    exactly("-7 % 3", "2");
    exactly("7 % -3", "-2");
    exactly("5.5 % 2", "1.5");
}

#[test]
fn powers() {
    exactly("2 ^ 200", "1606938044258990275541962092341162602522202993782792835301376");
    exactly("1.1 ^ 10", "2.5937424601");
    exactly("0 ^ 0", "1");
    exactly("(-1) ^ 1000000000000000001", "-1");
    exactly("0.5 ^ 20", "0.00000095367431640625");
    wrong("0 ^ -1", "division by zero");
    wrong("2 ^ 0.5", "sqrt(x)");
    wrong("2 ^ 0.3", "must be a whole number");
    wrong("2 ^ 1e30", "too large");
}

#[test]
fn factorials() {
    exactly("0!", "1");
    exactly("25!", "15511210043330985984000000");
    let thousand = evaluate("1000!").unwrap();
    let digits = thousand["result"].as_str().unwrap();
    assert_eq!(digits.len(), 2568);
    assert!(digits.starts_with("402387260077093773543702433923"));
    assert_eq!(digits.trim_end_matches('0').len(), 2568 - 249);
    exactly("1000! / 998!", "999000");
    exactly("100! / (98! * 2!)", "4950");
    wrong("(-1)!", "factorials go from");
    wrong("1.5!", "whole number");
    assert_eq!(evaluate("1775!").unwrap()["result"].as_str().unwrap().len(), 4999);
    wrong("1776!", "factorials go from 0! to 1775!");
    wrong("3!!", "(n!)!");
}

#[test]
fn functions() {
    exactly("abs(-3.5)", "3.5");
    exactly("min(3, -1, 2)", "-1");
    exactly("max(1/3, 0.3) * 3", "1");
    exactly("floor(-2.5) + ceil(-2.5)", "-5");
    exactly("gcd(84, -36, 120)", "12");
    exactly("lcm(4, 6, 10)", "60");
    exactly("gcd(0, 0) + lcm(0, 5)", "0");
    wrong("gcd(1.5, 3)", "each argument of `gcd` must be a whole number");
    wrong("abs(1, 2)", "takes 1 argument");
    wrong("round(1, 2, 3)", "takes 2 arguments");
    wrong("min()", "expected a number");
    wrong("sin(1)", "no function `sin`; there are abs, min, max, round, floor, ceil, sqrt, gcd, lcm");
    wrong("abs 5", "in parentheses");
}

#[test]
fn rounding() {
    exactly("round(2.5)", "3");
    exactly("round(-2.5)", "-3");
    exactly("round(2.345, 2)", "2.35");
    exactly("round(1.005, 2)", "1.01");
    exactly("round(1234.5, -2)", "1200");
    exactly("round(2/3, 4)", "0.6667");
    wrong("round(1, 0.5)", "must be a whole number");
    wrong("round(1, 1e9)", "`round` takes");
}

#[test]
fn roots() {
    exactly("sqrt(144)", "12");
    exactly("sqrt(2.25)", "1.5");
    exactly("sqrt(10^40)", "100000000000000000000");
    fraction("sqrt(4/9)", "2/3", "0.66666666666666666666666666666666666666666666666667");
    about("sqrt(2)", "1.4142135623730950488016887242096980785696718753769");
    about("sqrt(2e-40)", "0.000000000000000000014142135623730950488016887242096980785696718753769");
    about("sqrt(2e-42)", "1.4142135623730950488016887242096980785696718753769e-21");
    about("sqrt(1.1e-4001) * 1e2000", "0.33166247903553998491149327366706866839270885455894");
    about("sqrt(3e60)", "1732050807568877293527446341505.8723669428052538104");
    about("sqrt(2) * sqrt(2)", "2");
    about("sqrt(2) ^ 1000 / 2 ^ 500", "1");
    about("max(3, sqrt(2))", "3");
    about("-sqrt(2) * 10", "-14.142135623730950488016887242096980785696718753769");
    about("sqrt(2) * 1e60", "1.4142135623730950488016887242096980785696718753769e60");
    about("0 * sqrt(2)", "0");
    about("sqrt(10^20 + 1) - 10^10", "0.000000000049999999999999999999875000000000000000000625");
    wrong("sqrt(2) * sqrt(2) - 2", "the difference is too small");
    wrong("sqrt(-1)", "negative");
}

#[test]
fn nonsense_is_told_where_it_is() {
    wrong("", "at character 1: expected a number, found the end");
    wrong("1 +", "at character 4: expected a number, found the end");
    wrong("1 2", "at character 3: expected an operator, found a number");
    wrong("(1 + 2", "at character 7: expected `)` for what opened at character 1, found the end");
    wrong("1 + 2)", "at character 6: expected an operator, found `)`");
    wrong("1,000 + 1", "without separators");
    wrong("1_000", "without separators");
    wrong("2x", "without separators and units");
    wrong("1.2.3", "without separators");
    wrong("1e", "digits are expected");
    wrong("2 $ 3", "at character 3: unexpected `$`");
    wrong("1 / (2 - 2)", "at character 3: division by zero");
    wrong("5 % 0", "division by zero");
}

#[test]
fn what_would_never_end_is_refused() {
    wrong("9 ^ 9 ^ 9", "digits");
    wrong("1e100000", "digits");
    wrong("1e-100000", "digits");
    wrong("1e99999999999999999999", "too large");
    wrong("10 ^ 4999 * 10 ^ 4999", "digits");
    wrong("0.1 ^ 20000", "digits");
    wrong(&"9".repeat(5_001), "digits");
    wrong(&format!("{}1", "1775!/7^5000+".repeat(100)), "too many operations");
    wrong(&format!("{}1", "sqrt(2)^1000+".repeat(1_000)), "too many operations");
    wrong(&format!("{}1", "1e4999-".repeat(1_000)), "too many operations");
    wrong(&"1+".repeat(20_000), "longer than");
    wrong(&format!("{}1{}", "(".repeat(200), ")".repeat(200)), "nested");
    wrong(&format!("{}1", "-".repeat(5_000)), "nested");
    wrong(&format!("{}1", "2^".repeat(5_000)), "nested");
}

#[test]
fn what_is_small_enough_is_not_refused() {
    let sum: Vec<String> = (1..=1000).map(|n| format!("1/{n}")).collect();
    let sum = evaluate(&sum.join("+")).unwrap();
    assert_eq!(sum["result"], "7.4854708605503449126565182043339001765216791697088");
    exactly(&format!("{}1{}", "(".repeat(90), ")".repeat(90)), "1");
    exactly(&format!("{}1", "1+".repeat(9_999)), "10000");
}

#[test]
fn the_manifest_offers_one_tool() {
    let manifest = TestHost::<Calc>::new().manifest();
    assert_eq!((manifest.name.as_str(), manifest.hooks.len(), manifest.tools.len()), ("calc", 0, 1));
    assert!(manifest.tools[0].description.starts_with("Evaluates an arithmetic expression exactly"));
    let bad = TestHost::<Calc>::new().call_tool("evaluate", json!({ "text": "1" }));
    assert_eq!(
        bad,
        Err(ToolError::InvalidInput("missing field `expression` at line 1 column 12".to_owned()))
    );
}
