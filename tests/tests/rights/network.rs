use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use lathe::extensions::Resolver;
use lathe_tests::guests::messenger;
use lathe_tests::provider_server::{ProviderServer, Reply};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use super::stage::Stage;

/// Names of the tests' own, and how often one was looked up. What comes second is another address, as with a name
/// server that means no good.
#[derive(Clone, Default)]
struct Names(Arc<AtomicUsize>);

#[async_trait]
impl Resolver for Names {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let asked = self.0.fetch_add(1, Ordering::Relaxed);
        let addresses: &[[u8; 4]] = match host {
            "rebinding.test" if asked > 0 => &[[169, 254, 169, 254]],
            "here.test" | "secret.test" | "rebinding.test" => &[[127, 0, 0, 1]],
            "inner.test" => &[[10, 0, 0, 1]],
            "mixed.test" => &[[1, 1, 1, 1], [127, 0, 0, 1]],
            "metadata.test" => &[[169, 254, 169, 254]],
            _ => return Err(io::Error::other("no such name")),
        };
        Ok(addresses.iter().map(|address| IpAddr::from(*address)).collect())
    }
}

fn stage(grant: &str) -> Stage {
    Stage::with(grant, |loader| {
        let key = |name: &str| (name == "COURIER_KEY").then(|| "s3cret".to_owned());
        loader.resolver(Names::default()).environment(key)
    })
}

async fn server(replies: usize) -> ProviderServer {
    let reply = || Reply::stream("hello").with_header("x-from", "the server");
    ProviderServer::start(std::iter::repeat_with(reply).take(replies)).await.unwrap()
}

fn port(server: &ProviderServer) -> String {
    server.url().rsplit(':').next().unwrap().to_owned()
}

fn fetch(authority: &str) -> Value {
    json!({"do": "fetch", "scheme": "http", "authority": authority})
}

/// The same with more fields.
#[allow(clippy::needless_pass_by_value, reason = "written with `json!` in the call")]
fn with(mut deed: Value, more: Value) -> Value {
    deed.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    deed
}

#[tokio::test]
async fn without_a_grant_no_request_goes_out() {
    let server = server(1).await;
    let deeds = json!([fetch(&format!("127.0.0.1:{}", port(&server))), fetch("elsewhere.net")]);
    assert_eq!(stage("").act(deeds).await, ["HttpRequestDenied", "HttpRequestDenied"]);
    assert!(server.asked().await.is_empty());
}

#[tokio::test]
async fn a_granted_host_is_reached() {
    let server = server(1).await;
    let port = port(&server);
    let stage = stage(&format!("network = [{{ host = \"127.0.0.1\", http = true, ports = [{port}] }}]"));
    let deed =
        with(fetch(&format!("127.0.0.1:{port}")), json!({"path": "a?b=c", "headers": {"x-word": "1"}}));
    let results = stage.act(json!([deed])).await;
    assert_eq!((&results[0]["status"], &results[0]["body"]), (&json!(200), &json!("hello")));
    assert_eq!(results[0]["headers"]["x-from"], "the server");
    let asked = server.asked().await;
    assert_eq!(asked[0].target, "/a?b=c");
    assert_eq!(
        (&*asked[0].headers["host"], &*asked[0].headers["x-word"]),
        (&*format!("127.0.0.1:{port}"), "1")
    );
}

#[tokio::test]
async fn the_client_of_the_guests_crate_reaches_what_is_granted_and_says_why_not() {
    let server = server(1).await;
    let port = port(&server);
    let grant = format!(
        "network = [{{ host = \"here.test\", http = true, private = true, ports = [{port}, 1] }}, \
         {{ host = \"inner.test\", http = true }}]"
    );
    let stage = Stage::of("messenger", messenger(), &grant, |loader| loader.resolver(Names::default()));
    let send =
        |url: &str| json!({"method": "POST", "url": url, "headers": {"x-word": "1"}, "body": "[\"ü\"]"});
    let here = format!("http://here.test:{port}/a?b=c");
    let seen = stage.call("send", send(&here)).await;
    assert_eq!(seen.output, json!({"status": 200, "type": "text/event-stream", "body": "hello"}),);
    let asked = server.asked().await;
    assert_eq!((&*asked[0].target, &*asked[0].headers["x-word"]), ("/a?b=c", "1"));
    assert_eq!((&asked[0].body, asked[0].headers.get("transfer-encoding")), (&json!(["ü"]), None));
    for (url, said) in [
        ("http://elsewhere.test/", "http://elsewhere.test/: the request is not granted"),
        ("http://inner.test/", "http://inner.test/: the request is not granted"),
        ("http://here.test:1/", "http://here.test:1/: ErrorCode::ConnectionRefused"),
    ] {
        let seen = stage.call("send", send(url)).await;
        assert!(seen.output.as_str().is_some_and(|text| text.contains(said)), "{url}: {}", seen.output);
    }
}

#[tokio::test]
async fn what_is_not_granted_with_the_host_is_denied() {
    let server = server(1).await;
    let port = port(&server);
    let here = format!("here.test:{port}");
    let stage = stage(&format!(
        "network = [\n  {{ host = \"here.test\", http = true, private = true, ports = [{port}], methods = [\"GET\"] }},\n  \
         {{ host = \"127.0.0.1\", ports = [{port}] }},\n]"
    ));
    let deeds = json!([
        with(fetch(&here), json!({"method": "DELETE"})),
        fetch("here.test:1"),
        fetch("other.test"),
        fetch("not-asked.net"),
        fetch(&format!("127.0.0.1:{port}")),
    ]);
    assert_eq!(stage.act(deeds).await, ["HttpRequestDenied"; 5]);
    assert!(server.asked().await.is_empty());
}

#[tokio::test]
async fn inner_addresses_are_denied_by_what_a_name_stands_for() {
    let stage = stage("network = [{ host = \"*.test\", http = true }]");
    let deeds = json!([
        fetch("here.test"),
        fetch("inner.test"),
        fetch("mixed.test"),
        fetch("metadata.test"),
        fetch("nowhere.test"),
    ]);
    let results = stage.act(deeds).await;
    assert_eq!(results[..4], ["DestinationIpProhibited"; 4]);
    assert!(results[4].as_str().unwrap().contains("DnsError"), "{results:?}");
}

#[tokio::test]
async fn metadata_services_are_denied_in_private_networks_too() {
    let stage = stage("network = [{ host = \"*.test\", http = true, private = true }]");
    assert_eq!(stage.act(json!([fetch("metadata.test")])).await, ["DestinationIpProhibited"]);
}

#[tokio::test]
async fn the_address_that_was_checked_is_the_one_that_is_reached() {
    let server = server(1).await;
    let port = port(&server);
    let names = Names::default();
    let grant =
        format!("network = [{{ host = \"rebinding.test\", http = true, private = true, ports = [{port}] }}]");
    let stage = Stage::with(&grant, |loader| loader.resolver(names.clone()));
    let deed = fetch(&format!("rebinding.test:{port}"));
    let results = stage.act(json!([deed, deed])).await;
    assert_eq!(results[0]["body"], "hello");
    assert_eq!(results[1], "DestinationIpProhibited", "the next request is checked anew");
    assert_eq!(names.0.load(Ordering::Relaxed), 2, "one look-up a request");
}

#[tokio::test]
async fn a_redirect_is_the_guests_to_follow_and_is_checked_again() {
    let moved = Reply::refusal(302, &json!({})).with_header("location", "http://metadata.test/");
    let server = ProviderServer::start([moved]).await.unwrap();
    let port = port(&server);
    let stage = stage(&format!(
        "network = [{{ host = \"*.test\", http = true, private = true, ports = [{port}, 80] }}]"
    ));
    let results = stage.act(json!([fetch(&format!("here.test:{port}")), fetch("metadata.test")])).await;
    assert_eq!(
        (&results[0]["status"], &results[0]["headers"]["location"]),
        (&json!(302), &json!("http://metadata.test/"))
    );
    assert_eq!(results[1], "DestinationIpProhibited");
}

#[tokio::test]
async fn a_secret_header_is_added_and_never_seen() {
    let server = server(1).await;
    let port = port(&server);
    let stage = stage(&format!(
        "network = [{{ host = \"secret.test\", http = true, private = true, ports = [{port}], \
         headers = {{ authorization = {{ env = \"COURIER_KEY\", prefix = \"Bearer \" }} }} }}]"
    ));
    let own = json!({"headers": {"authorization": "Bearer mine"}});
    let deeds = json!([with(fetch(&format!("secret.test:{port}")), own), {"do": "variables"}]);
    let seen = stage.turn(deeds).await;
    assert_eq!(seen.output[0]["ok"]["status"], 200);
    assert!(!seen.output.to_string().contains("s3cret"));
    assert_eq!(server.asked().await[0].headers["authorization"], "Bearer s3cret");
}

#[tokio::test]
async fn without_its_secret_no_request_goes_out() {
    let grant = "network = [{ host = \"here.test\", http = true, private = true, headers = { x-key = { env = \"NOT_SET\" } } }]";
    assert_eq!(stage(grant).act(json!([fetch("here.test")])).await, ["ConfigurationError"]);
}

#[tokio::test]
async fn headers_of_the_connection_are_not_the_guests() {
    let grant = "network = [{ host = \"here.test\", http = true, private = true }]";
    let headers = ["host", "connection", "transfer-encoding", "x-forwarded-for", "metadata-flavor"];
    let deeds: Vec<Value> =
        headers.iter().map(|name| with(fetch("here.test"), json!({"headers": {*name: "x"}}))).collect();
    for result in stage(grant).act(json!(deeds)).await {
        assert!(result.as_str().unwrap().contains("Forbidden"), "{result}");
    }
}

#[tokio::test]
async fn bodies_have_a_largest_size() {
    let server = server(3).await;
    let port = port(&server);
    let deed = |bytes: usize| {
        with(fetch(&format!("here.test:{port}")), json!({"method": "PUT", "bodyBytes": bytes}))
    };
    let grant = |limits: &str| {
        format!(
            "network = [{{ host = \"here.test\", http = true, private = true, ports = [{port}], {limits} }}]"
        )
    };
    let small = stage(&grant("request-bytes = 9000, response-bytes = 5"));
    assert_eq!(small.act(json!([deed(9000)])).await[0]["body"], "hello", "as large as it may be");
    let results = small.act(json!([deed(100_000)])).await;
    assert!(results[0].as_str().unwrap().contains("HttpRequestBodySize(Some(9000))"), "{results:?}");
    let results = stage(&grant("response-bytes = 4")).act(json!([deed(1)])).await;
    assert_eq!(results, ["HTTP response body size exceeds limit: 4 bytes"]);
}

/// A server that takes connections and says nothing.
async fn silent() -> (tokio::net::TcpListener, String) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port.to_string())
}

#[tokio::test]
async fn a_guest_may_wait_less_for_a_silent_server() {
    let (_listener, port) = silent().await;
    let stage = stage(&format!("network = [{{ host = \"127.0.0.1\", http = true, ports = [{port}] }}]"));
    let deed = with(fetch(&format!("127.0.0.1:{port}")), json!({"silenceMs": 50}));
    assert_eq!(stage.act(json!([deed])).await, ["HttpResponseTimeout"]);
}

#[tokio::test]
async fn a_silent_server_holds_nobody_past_the_deadline() {
    let (listener, port) = silent().await;
    let stage = stage(&format!(
        "network = [{{ host = \"127.0.0.1\", http = true, ports = [{port}] }}]\n\
         [extension.courier.limits]\ntool-timeout-ms = 300"
    ));
    let seen = stage.turn(json!([fetch(&format!("127.0.0.1:{port}"))])).await;
    assert!(seen.output.as_str().unwrap().contains("300 ms"), "{}", seen.output);
    // Nothing of the request is left: its connection is closed.
    let (mut connection, _) = listener.accept().await.unwrap();
    let mut sent = Vec::new();
    let closed = connection.read_to_end(&mut sent);
    tokio::time::timeout(std::time::Duration::from_secs(30), closed).await.unwrap().unwrap();
}

#[tokio::test]
async fn only_so_many_requests_are_under_way_at_once() {
    let (_listener, port) = silent().await;
    let stage = stage(&format!("network = [{{ host = \"127.0.0.1\", http = true, ports = [{port}] }}]"));
    let flood = |count: u32, silence: u32| {
        let authority = format!("127.0.0.1:{port}");
        let request = json!({"scheme": "http", "authority": authority, "silenceMs": silence});
        json!([{"do": "flood", "request": request, "count": count}])
    };
    assert_eq!(stage.act(flood(16, 50)).await, ["HttpResponseTimeout"]);
    assert_eq!(stage.act(flood(17, 60_000)).await, ["ConnectionLimitReached"]);
}

#[tokio::test]
async fn https_is_not_talked_down_to_http() {
    let server = server(1).await;
    let port = port(&server);
    let stage = stage(&format!("network = [{{ host = \"127.0.0.1\", http = true, ports = [{port}] }}]"));
    let deed = with(fetch(&format!("127.0.0.1:{port}")), json!({"scheme": "https"}));
    assert_eq!(stage.act(json!([deed])).await, ["TlsProtocolError"]);
}

#[tokio::test]
async fn denied_requests_of_a_hook_are_counted_in_its_event() {
    let stage = stage(
        "[extension.courier.settings]\n\
         turn = [{ do = \"fetch\", scheme = \"https\", authority = \"a.test\" }]",
    );
    let seen = stage.turn(json!([])).await;
    assert_eq!(seen.calls[0].denied, 1);
    assert!(seen.system.contains("HttpRequestDenied"), "{}", seen.system);
}
