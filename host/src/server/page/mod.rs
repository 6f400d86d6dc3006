//! The page at `/`: a chat beside the inspector of the turn.
//!
//! Plain HTML, CSS and ES modules as they stand in `files/`, all of them in the binary. The page holds no secret, so
//! nobody has to show a token for it; what it then asks of the server is guarded as for every other client.

use std::collections::HashMap;
use std::sync::LazyLock;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use sha2::{Digest, Sha256};

use super::routes::Shared;

const INDEX: &str = "index.html";

/// What the page may load, call and be part of: itself. `connect-src` names the schemes since not every browser takes
/// `'self'` for a WebSocket. Nothing can become markup, not even by a mistake in the page: that is what trusted types do.
const POLICY: &str = "default-src 'self'; connect-src 'self' ws: wss:; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("files/", $name)))),+]
    };
}

static FILES: LazyLock<HashMap<&str, File>> = LazyLock::new(|| {
    let files = files![
        "index.html",
        "icon.svg",
        "style.css",
        "chat.css",
        "panels.css",
        "api.js",
        "app.js",
        "chat.js",
        "chunks.js",
        "config.js",
        "dialog.js",
        "dom.js",
        "extensions.js",
        "fields.js",
        "format.js",
        "frames.js",
        "inspector.js",
        "keys.js",
        "markdown.js",
        "parts.js",
        "permissions.js",
        "rows.js",
        "sessions.js",
        "socket.js",
        "summary.js",
        "tabs.js",
        "theme.js",
        "timeline.js",
        "transcript.js",
        "turns.js",
    ];
    files.into_iter().map(|(name, text)| (name, File::new(name, text))).collect()
});

struct File {
    text: &'static str,
    kind: &'static str,
    etag: String,
}

impl File {
    fn new(name: &str, text: &'static str) -> Self {
        let kind = match name.rsplit_once('.') {
            Some((_, "html")) => "text/html; charset=utf-8",
            Some((_, "css")) => "text/css; charset=utf-8",
            Some((_, "svg")) => "image/svg+xml",
            _ => "text/javascript; charset=utf-8",
        };
        let hash: String = Sha256::digest(text).iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        Self { text, kind, etag: format!("\"{hash}\"") }
    }

    fn answer(&self, asked: &HeaderMap) -> Response {
        let known = asked.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
        let mut known = known.flat_map(|tags| tags.split(','));
        let headers = [
            (header::CONTENT_TYPE, self.kind),
            (header::CACHE_CONTROL, "no-cache"),
            (header::ETAG, &self.etag),
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::REFERRER_POLICY, "no-referrer"),
            (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        ];
        if known.any(|tag| tag.trim().trim_start_matches("W/") == self.etag) {
            return (StatusCode::NOT_MODIFIED, headers).into_response();
        }
        (headers, self.text).into_response()
    }
}

/// Without the token's guard; a name that only points at this machine is turned away here, too.
pub(super) fn routes(shared: Shared) -> Router<Shared> {
    Router::new()
        .route("/", get(|headers: HeaderMap| async move { file(INDEX, &headers) }))
        .route(
            "/page/{file}",
            get(|Path(name): Path<String>, headers: HeaderMap| async move { file(&name, &headers) }),
        )
        .route_layer(middleware::from_fn_with_state(shared, guard))
}

fn file(name: &str, asked: &HeaderMap) -> Response {
    match FILES.get(name) {
        Some(file) => file.answer(asked),
        None => (StatusCode::NOT_FOUND, "there is no such file").into_response(),
    }
}

async fn guard(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    match shared.access.host(request.headers()) {
        Ok(()) => next.run(request).await,
        Err((status, why)) => (status, why).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::agent::Agent;
    use crate::server::Server;
    use crate::store::SqliteStore;

    /// The status of a request to a server on this machine that is called by that name.
    async fn status(server: Server, host: &str, path: &str) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(server.serve(listener, std::future::pending()));
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        serving.abort();
        String::from_utf8_lossy(&answer).split(' ').nth(1).unwrap().parse().unwrap()
    }

    #[tokio::test]
    async fn the_page_needs_no_token_but_a_name_that_is_meant() {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(SqliteStore::open(&folder.path().join("lathe.db")).await.unwrap());
        let open = Server::new(Agent::builder(store).build().unwrap());
        let closed = open.clone().token("s3cret");
        for path in ["/", "/page/app.js"] {
            assert_eq!(status(open.clone(), "localhost", path).await, 200);
            assert_eq!(status(open.clone(), "rebound.example", path).await, 403);
            assert_eq!(status(closed.clone(), "lathe.example", path).await, 200);
        }
        assert_eq!(status(closed, "lathe.example", "/api/about").await, 401);
    }

    #[test]
    fn a_file_that_is_known_is_not_sent_again() {
        let first = file("app.js", &HeaderMap::new());
        assert_eq!(first.status(), StatusCode::OK);
        assert_eq!(first.headers()[header::CONTENT_TYPE], "text/javascript; charset=utf-8");
        let tag = first.headers()[header::ETAG].clone();
        let asked = |tag: &str| HeaderMap::from_iter([(header::IF_NONE_MATCH, tag.parse().unwrap())]);
        let tag = tag.to_str().unwrap();
        for (known, status) in [
            (tag, StatusCode::NOT_MODIFIED),
            (&*format!("\"other\", W/{tag}"), StatusCode::NOT_MODIFIED),
            ("\"other\"", StatusCode::OK),
        ] {
            assert_eq!(file("app.js", &asked(known)).status(), status, "{known}");
        }
        assert_eq!(file("mod.rs", &HeaderMap::new()).status(), StatusCode::NOT_FOUND);
    }

    #[test]
    fn what_is_in_the_folder_is_served_and_needs_nothing_else() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/server/page/files");
        let names = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name());
        let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        let mut served: Vec<&str> = FILES.keys().copied().collect();
        names.sort();
        served.sort_unstable();
        assert_eq!(served, names);
        for (name, file) in &*FILES {
            for import in file.text.split("from \"./").skip(1) {
                let import = import.split('"').next().unwrap();
                assert!(FILES.contains_key(import), "{name} imports {import}");
            }
            assert!(!file.text.contains("innerHTML") && !file.text.contains("style=\""), "{name}");
        }
    }
}
