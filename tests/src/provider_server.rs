//! A model provider on this machine: it plays what it is given and keeps what it is asked.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;

/// What the server answers to one request.
#[derive(Clone, Debug)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    piece: usize,
    cut: bool,
}

impl Reply {
    /// An event stream that ends as it should.
    pub fn stream(body: impl Into<String>) -> Self {
        let headers = vec![("content-type".to_owned(), "text/event-stream".to_owned())];
        Self { status: 200, headers, body: body.into().into_bytes(), piece: usize::MAX, cut: false }
    }

    /// A refusal.
    pub fn refusal(status: u16, body: &Value) -> Self {
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        Self { status, headers, body: body.to_string().into_bytes(), piece: usize::MAX, cut: false }
    }

    /// With one more header.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// In pieces of so many bytes, wherever that splits it.
    #[must_use]
    pub fn in_pieces_of(mut self, bytes: usize) -> Self {
        self.piece = bytes;
        self
    }

    /// With the connection cut after the body that is given.
    #[must_use]
    pub fn cut_off(mut self) -> Self {
        self.cut = true;
        self
    }
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Path and query.
    pub target: String,
    /// By lower-case name.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Value,
}

/// A server that answers each request with the next of its replies.
#[derive(Debug)]
pub struct ProviderServer {
    url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl ProviderServer {
    /// Starts it on a free port; it ends with the test's runtime.
    ///
    /// # Errors
    ///
    /// If there is no port.
    pub async fn start(replies: impl IntoIterator<Item = Reply>) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        let mut replies: VecDeque<Reply> = replies.into_iter().collect();
        tokio::spawn(async move {
            while let (Some(reply), Ok((connection, _))) = (replies.pop_front(), listener.accept().await) {
                // A client that hangs up early is part of what is tested.
                let _ = serve(connection, &reply, &seen).await;
            }
        });
        Ok(Self { url, asked })
    }

    /// Where it is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Everything it was asked, oldest first.
    pub async fn asked(&self) -> Vec<Asked> {
        self.asked.lock().await.clone()
    }
}

async fn serve(connection: TcpStream, reply: &Reply, asked: &Mutex<Vec<Asked>>) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut connection = BufReader::new(connection);
    let request = read(&mut connection).await?;
    asked.lock().await.push(request);
    let mut head =
        format!("HTTP/1.1 {} X\r\nconnection: close\r\ntransfer-encoding: chunked\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    connection.write_all(format!("{head}\r\n").as_bytes()).await?;
    // One HTTP chunk a piece: the client gets the pieces as they are, whatever the network makes of them.
    for piece in reply.body.chunks(reply.piece) {
        connection.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).await?;
        connection.write_all(piece).await?;
        connection.write_all(b"\r\n").await?;
    }
    if !reply.cut {
        connection.write_all(b"0\r\n\r\n").await?;
    }
    connection.shutdown().await
}

async fn read(connection: &mut BufReader<TcpStream>) -> io::Result<Asked> {
    let mut line = String::new();
    connection.read_line(&mut line).await?;
    let target = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut headers = BTreeMap::new();
    loop {
        line.clear();
        connection.read_line(&mut line).await?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    connection.read_exact(&mut body).await?;
    Ok(Asked { target, headers, body: serde_json::from_slice(&body).unwrap_or_default() })
}
