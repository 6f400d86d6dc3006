//! A collector of OpenTelemetry on this machine: it keeps what it is sent.

#![allow(clippy::expect_used, reason = "for tests alone")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use parking_lot::Mutex;

/// Takes OTLP over HTTP, as long as the test runs.
pub struct Collector {
    address: SocketAddr,
    sent: Arc<Mutex<Vec<Sent>>>,
}

/// One request.
#[derive(Clone, Debug)]
pub struct Sent {
    /// The method and the path.
    pub line: String,
    /// Protobuf.
    pub body: Vec<u8>,
}

impl Collector {
    /// A new one.
    ///
    /// # Panics
    ///
    /// If there is no port.
    #[must_use]
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let sent = Arc::<Mutex<Vec<Sent>>>::default();
        let kept = sent.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kept = kept.clone();
                std::thread::spawn(move || drop(serve(&stream, &kept)));
            }
        });
        Self { address, sent }
    }

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it was sent.
    #[must_use]
    pub fn sent(&self) -> Vec<Sent> {
        self.sent.lock().clone()
    }
}

/// Answers the requests of one connection.
fn serve(mut stream: &TcpStream, kept: &Mutex<Vec<Sent>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let mut length = 0;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header)?;
            let header = header.trim().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        kept.lock().push(Sent { line: line.trim().to_owned(), body });
        let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(answer.as_bytes())?;
    }
}
