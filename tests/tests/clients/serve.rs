//! A server that a script is given, with the extensions that come with the host.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use anyhow::Context;
use lathe_tests::binary::Folder;

/// Gone with it.
pub(crate) struct Served {
    child: Child,
    url: String,
    _folder: Folder,
}

impl Served {
    pub(crate) fn start(model: &str) -> anyhow::Result<Self> {
        let folder = Folder::new().with(&["calc", "clock", "house-rules", "meter"]);
        folder.write("lathe.toml", "[extension.house-rules.settings]\nrules = [\"Be brief.\"]\n");
        let mut command = folder.command(&["serve", "--listen", "127.0.0.1:0", "--model", model]);
        let mut child = command.stderr(Stdio::piped()).spawn()?;
        let mut lines = BufReader::new(child.stderr.take().context("it is piped")?).lines();
        let said = lines.find_map(|line| line.ok()?.split_once("http://").map(|(_, rest)| rest.to_owned()));
        let address = said.as_deref().and_then(|said| said.split(',').next());
        let url = format!("http://{}", address.context("the server ended before it listened")?);
        // It says more, which nobody reads but which it must be able to write.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(Self { child, url, _folder: folder })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
