use std::sync::Arc;

use lathe::store::{SqliteStore, Store};
use lathe_tests::binary::{Folder, ran};
use rcgen::{CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

/// A server for `localhost` that says hello: its port, and the authority that signed its certificate, as PEM.
async fn server() -> (u16, String) {
    let authority_key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let pem = authority.self_signed(&authority_key).unwrap().pem();
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = certificate.signed_by(&key, &issuer).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            // A client that does not trust it hangs up.
            let Ok(mut connection) = acceptor.accept(connection).await else { continue };
            let _ = connection.read(&mut [0; 4096]).await;
            let _ = connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello").await;
        }
    });
    (port, pem)
}

/// What the guest is told, by a host whose machine trusts these authorities and no other.
async fn fetch(port: u16, trusted: &str) -> String {
    let folder = Folder::new().with(&["courier"]);
    let fetch = json!({"do": "fetch", "scheme": "https", "authority": format!("localhost:{port}")});
    let call = json!({"id": "c", "name": "courier_act", "input": {"deeds": [fetch]}});
    folder.write("script.json", json!([{"toolCalls": [call]}, {"text": ["done"]}]).to_string());
    folder.write(
        "lathe.toml",
        format!(
            "model = \"scripted:script.json\"\n[extension.courier.grant]\n\
             network = [{{ host = \"localhost\", private = true, ports = [{port}] }}]"
        ),
    );
    let mut command = folder.command(&["run", "--session", "ada", "go"]);
    command.env("SSL_CERT_FILE", folder.write("trusted.pem", trusted)).env_remove("SSL_CERT_DIR");
    let run = tokio::task::spawn_blocking(move || ran(command)).await.unwrap();
    assert_eq!(run.code, Some(0), "{}", run.err);
    let store = SqliteStore::open(&folder.path().join(".lathe/lathe.db")).await.unwrap();
    serde_json::to_string(&store.messages("ada").await.unwrap()).unwrap()
}

#[tokio::test]
async fn https_reaches_a_server_that_this_machine_trusts_and_no_other() {
    let (port, authority) = server().await;
    let told = fetch(port, &authority).await;
    assert!(told.contains("\"body\":\"hello\""), "{told}");
    let (_, stranger) = server().await;
    let told = fetch(port, &stranger).await;
    assert!(told.contains("TlsCertificateError"), "{told}");
}
