use std::path::Path;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::extensions::Progress;

/// One bar for all compilations, gone with its loader. Off when standard error is no terminal.
pub(super) struct Bar(ProgressBar);

impl Bar {
    pub(super) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("compiling {msg} {bar:20} {pos}/{len} {elapsed}") {
            bar.set_style(style);
        }
        Self(bar)
    }
}

impl Progress for Bar {
    fn compiling(&self, file: &Path) {
        self.0.set_message(name(file));
        self.0.inc_length(1);
        self.0.enable_steady_tick(Duration::from_millis(200));
    }

    fn compiled(&self, _: &Path) {
        self.0.inc(1);
    }
}

fn name(file: &Path) -> String {
    file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned()
}
