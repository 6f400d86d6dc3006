//! The load of extensions that were compiled before.

use std::time::Duration;

use tokio::time::Instant;

use crate::crowd::{self, Crowd};
use crate::measure::Bench;
use crate::report::Measure;

pub(crate) fn run(bench: &mut Bench, crowd: &Crowd) {
    let folder = crowd.folder();
    bench.lathe(Measure::Load, move |iterations| {
        let folder = folder.clone();
        async move {
            let mut total = Duration::ZERO;
            for _ in 0..iterations {
                let begun = Instant::now();
                let loaded = crowd::load(&folder).await;
                total += begun.elapsed();
                assert_eq!(loaded.compiled, 0);
            }
            total
        }
    });
}
