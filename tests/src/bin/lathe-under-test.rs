//! The `lathe` binary once more: cargo builds it for the tests of this crate, which another crate's it does not.

use std::process::ExitCode;

fn main() -> ExitCode {
    lathe::cli::main()
}
