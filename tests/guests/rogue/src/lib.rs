//! A guest for tests: its settings say what goes wrong, in a hook or in its tool.

use lathe_guest::prelude::*;

#[derive(Default)]
struct Rogue;

/// `{"do": "loop"}`; nothing goes wrong by default.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Settings {
    r#do: String,
}

#[extension(description = "Does what its settings say, and means no good")]
impl Extension for Rogue {
    fn tools() -> Tools<Self> {
        Tools::new().tool("act", Self::act)
    }

    fn before_turn(&mut self, turn: TurnSnapshot) -> Result<Option<TurnConfig>> {
        misbehave()?;
        Ok(Some(TurnConfig { system: Some(format!("{}+rogue", turn.system)), ..Default::default() }))
    }

    fn on_chunk(&mut self, _: Vec<Chunk>) -> Result<()> {
        misbehave().map(drop)
    }
}

/// Does what the settings say.
#[derive(Deserialize, JsonSchema)]
struct Act {}

impl Rogue {
    fn act(&mut self, _: Act) -> Result<String> {
        misbehave()
    }
}

#[allow(clippy::disallowed_methods, reason = "a guest has no tokio")]
fn misbehave() -> Result<String> {
    let settings: Settings = settings()?;
    match &*settings.r#do {
        "loop" => loop {
            std::hint::black_box(());
        },
        "panic" => deliberate(),
        "exit" => exit(),
        "fail" => Err("kaput".into()),
        "sleep" => {
            std::thread::sleep(std::time::Duration::from_secs(3600));
            Ok(String::new())
        }
        "memory" => {
            let mut hoard = Vec::new();
            loop {
                hoard.push(std::hint::black_box(vec![1u8; 1 << 20]));
            }
        }
        "recurse" => Ok(recurse(1).to_string()),
        "output" => Ok("x".repeat(8 << 20)),
        "storage" => {
            storage::set("big", vec![0; 20 << 20])?;
            Ok("stored".into())
        }
        "denied" => Ok(format!("{:?} {:?}", context::get("x").err(), session::info().err())),
        "environment" => Ok(format!(
            "{} variables, {} arguments, files: {}",
            std::env::vars().count(),
            std::env::args().count(),
            std::fs::read_dir("/").is_ok()
        )),
        "network" => Ok(network()),
        "files" => Ok(files()),
        _ => Ok("well-behaved".into()),
    }
}

/// This machine, a private network, a cloud's metadata, and a name that must be looked up.
fn network() -> String {
    let addresses = ["127.0.0.1:80", "10.0.0.1:80", "169.254.169.254:80", "localhost:80"];
    let reached = addresses.iter().filter(|address| std::net::TcpStream::connect(address).is_ok()).count();
    format!("connected: {reached} of {}", addresses.len())
}

/// Ways out of a folder, and a folder to begin with.
fn files() -> String {
    let paths = [
        "/",
        ".",
        "..",
        "/etc/passwd",
        "../../etc/passwd",
        "/proc/self/environ",
        "/workspace",
        "//tmp/../etc",
    ];
    let opened =
        paths.iter().filter(|path| std::fs::read_dir(path).is_ok() || std::fs::read(path).is_ok()).count();
    let links =
        ["/link", "link"].iter().filter(|link| std::fs::hard_link("/etc/passwd", link).is_ok()).count();
    format!("{opened} of {} paths opened, {links} links made", paths.len())
}

#[allow(clippy::panic, reason = "that is what is tested")]
fn deliberate() -> ! {
    panic!("on purpose")
}

#[allow(clippy::disallowed_methods, reason = "that is what is tested")]
fn exit() -> ! {
    std::process::exit(7)
}

#[allow(unconditional_recursion, reason = "that is what is tested")]
fn recurse(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 64]);
    recurse(depth + 1) + frame[7]
}
