//! Suites of recorded cases: a line for each, and the differences that are intended.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use futures::StreamExt;
use serde_json::Value;

use crate::differences::Differences;
use crate::guests::root;

/// Of one case, with all its pauses.
const PATIENCE: Duration = Duration::from_secs(120);

/// Cases of one kind.
pub struct Suite {
    /// Their differences in `tests/conformance/differences.toml`: the name of the table.
    pub differences: &'static str,
    /// The environment variable that names a folder to play instead, absolute or from the repository's root.
    pub variable: &'static str,
    /// Where they are, from the repository's root.
    pub folders: &'static [&'static str],
    /// Cases at a time: most of what they do is waiting.
    pub at_once: usize,
}

impl Suite {
    /// Plays every case and says what came of it. `case` plays one: what was expected and what happened, ready to be compared.
    #[allow(clippy::print_stdout, reason = "it is what a suite prints")]
    pub async fn play(&self, case: impl AsyncFn(PathBuf) -> anyhow::Result<(Value, Value)>) -> ExitCode {
        match self.passes(case).await {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(error) => {
                println!("the cases could not be played: {error:#}");
                ExitCode::FAILURE
            }
        }
    }

    #[allow(clippy::print_stdout, reason = "it is what a suite prints")]
    async fn passes(
        &self,
        case: impl AsyncFn(PathBuf) -> anyhow::Result<(Value, Value)>,
    ) -> anyhow::Result<bool> {
        let case = &case;
        let file = root().join("tests/conformance/differences.toml");
        let mut differences = Differences::read(&file, self.differences)?;
        let mut played = futures::stream::iter(self.files()?)
            .map(|file| {
                let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let played = tokio::time::timeout(PATIENCE, case(file));
                async move {
                    let late = |_| Err(anyhow::anyhow!("it took longer than {PATIENCE:?}"));
                    (name, played.await.unwrap_or_else(late))
                }
            })
            .buffered(self.at_once);
        let (mut passed, mut failed) = (0, 0);
        while let Some((name, played)) = played.next().await {
            let found = match played {
                Ok((expected, got)) => differences.without(&name, &expected, &got),
                Err(error) => vec![format!("it could not be played: {error:#}")],
            };
            if found.is_empty() {
                passed += 1;
                println!("ok {name}");
            } else {
                failed += 1;
                println!("FAIL {name}: {}", found.join("\n     "));
            }
        }
        differences.report();
        println!("{passed} passed, {failed} failed");
        Ok(failed == 0 && passed > 0)
    }

    fn files(&self) -> anyhow::Result<Vec<PathBuf>> {
        let folders = match std::env::var_os(self.variable) {
            Some(folder) => vec![PathBuf::from(folder)],
            None => self.folders.iter().map(PathBuf::from).collect(),
        };
        let mut files = Vec::new();
        for folder in folders {
            let folder = root().join(folder);
            let entries = std::fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
            let entries = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
            let mut cases: Vec<PathBuf> = entries.into_iter().filter(|file| is_case(file)).collect();
            cases.sort();
            files.append(&mut cases);
        }
        Ok(files)
    }
}

fn is_case(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "json")
}
