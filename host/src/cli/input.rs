//! Where prompts come from.

use std::ffi::OsString;
use std::io::{IsTerminal, Read};

use tokio::io::{AsyncBufReadExt, BufReader, Stdin};

use super::problem::Problem;

/// What was typed as an argument.
pub(super) fn typed(prompt: OsString) -> Result<String, Problem> {
    not_empty(prompt.into_string().map_err(|_| not_utf8("the prompt".into()))?)
}

/// All of standard input.
pub(super) fn all() -> Result<String, Problem> {
    let mut stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Err(Problem::new("there is no prompt")
            .hint("give one as argument, as in `lathe run \"What is 21 * 2?\"`, or on standard input; `lathe dev` chats"));
    }
    let mut bytes = Vec::new();
    stdin.read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    not_empty(String::from_utf8(bytes).map_err(|_| not_utf8("the prompt".into()))?.trim_end().to_owned())
}

/// Standard input, a prompt a line.
pub(super) struct Lines {
    stdin: BufReader<Stdin>,
    number: usize,
}

impl Lines {
    pub(super) fn new() -> Self {
        Self { stdin: BufReader::new(tokio::io::stdin()), number: 0 }
    }

    /// The next line that is not blank; none at the end.
    pub(super) async fn next(&mut self) -> Result<Option<String>, Problem> {
        loop {
            let mut line = Vec::new();
            if self.stdin.read_until(b'\n', &mut line).await.map_err(|error| unreadable(&error))? == 0 {
                return Ok(None);
            }
            self.number += 1;
            let line = String::from_utf8(line)
                .map_err(|_| not_utf8(format!("line {} of standard input", self.number)))?;
            if !line.trim().is_empty() {
                return Ok(Some(line.trim().to_owned()));
            }
        }
    }
}

fn not_empty(prompt: String) -> Result<String, Problem> {
    if prompt.trim().is_empty() {
        return Err(Problem::new("the prompt is empty").hint("as in `lathe run \"What is 21 * 2?\"`"));
    }
    Ok(prompt)
}

fn not_utf8(what: String) -> Problem {
    Problem::new(what + " is not UTF-8").hint("convert it, as in `iconv -f latin1 -t utf-8 FILE | lathe run`")
}

fn unreadable(error: &std::io::Error) -> Problem {
    Problem::new(format!("cannot read standard input: {error}"))
}
