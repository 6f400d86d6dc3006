//! Measures what Lathe's bench measures with its peers, and prints the medians as JSON: a list of `measure`, `peer`
//! and `ns`. Progress goes to standard error. The bench `dispatch` runs it; by itself: `cargo run --release`.

mod extism;
mod figures;
mod mcp;
#[path = "../../benches/dispatch/payload.rs"]
mod payload;
mod shell;

use anyhow::Result;
use figures::Figures;

#[tokio::main]
async fn main() -> Result<()> {
    if std::env::args().any(|argument| argument == mcp::SERVE) {
        return mcp::serve().await;
    }
    let mut figures = Figures::default();
    // One that cannot be had leaves the others.
    for (peer, done) in [
        ("Extism", extism::run(&mut figures)),
        ("MCP", mcp::run(&mut figures).await),
        ("a shell command", shell::run(&mut figures)),
    ] {
        if let Err(error) = done {
            eprintln!("no figures of {peer}: {error:#}");
        }
    }
    println!("{}", figures.json());
    Ok(())
}
