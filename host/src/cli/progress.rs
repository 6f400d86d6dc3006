use std::path::Path;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::Mutex;

use crate::extensions::Progress;

/// One bar for all compilations, there as long as one is under way. Off when standard error is no terminal.
#[derive(Default)]
pub(super) struct Bar(Mutex<Option<Running>>);

struct Running {
    /// Gone from the screen when it is dropped.
    bar: ProgressBar,
    under_way: usize,
}

impl Progress for Bar {
    fn compiling(&self, file: &Path) {
        let mut running = self.0.lock();
        let Running { bar, under_way } = running.get_or_insert_with(|| Running { bar: new(), under_way: 0 });
        *under_way += 1;
        bar.set_message(name(file));
        bar.inc_length(1);
        bar.enable_steady_tick(Duration::from_millis(200));
    }

    fn compiled(&self, _: &Path) {
        let mut running = self.0.lock();
        if let Some(Running { bar, under_way }) = &mut *running {
            bar.inc(1);
            *under_way -= 1;
            if *under_way == 0 {
                *running = None;
            }
        }
    }
}

fn new() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    match ProgressStyle::with_template("compiling {msg} {bar:20} {pos}/{len} {elapsed}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn name(file: &Path) -> String {
    file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned()
}
