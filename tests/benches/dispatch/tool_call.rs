//! A tool call of an extension, in a fresh instance, with 1 kB in and 1 kB out.

use lathe::tools::CallContext;
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::bridge::bridge;
use crate::measure::Bench;
use crate::payload;
use crate::report::Measure;

pub(crate) fn run(bench: &mut Bench) {
    let tool = bench.extension.tools(&bridge()).next().unwrap();
    bench.lathe(Measure::ToolCall, move |iterations| {
        let tool = tool.clone();
        let context = CallContext::new("s", "request", "m", 0, "call", CancellationToken::new(), |_| {});
        let input = json!({ "text": payload::text() });
        async move {
            let begun = Instant::now();
            for _ in 0..iterations {
                let answer = tool.execute(input.clone(), &context).await.unwrap();
                assert_eq!(answer.output, input);
            }
            begun.elapsed()
        }
    });
    let floor = bench.floor.clone();
    bench.floor(Measure::ToolCall, move |iterations| {
        let floor = floor.clone();
        async move { floor.tool_call(iterations).await }
    });
}
