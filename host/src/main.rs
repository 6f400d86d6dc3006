//! The `lathe` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    lathe::cli::main()
}
