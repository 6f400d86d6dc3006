use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use criterion::Criterion;
use lathe::extensions::Extension;
use tokio::runtime::Runtime;

use crate::floor::Floor;
use crate::report::{Measure, Report};

/// Samples of a measure.
const SAMPLES: usize = 60;

/// What the measures share, and what they found.
pub(crate) struct Bench {
    pub(crate) runtime: Runtime,
    /// The guest `bench`, in the host.
    pub(crate) extension: Arc<Extension>,
    /// The guest `bench`, without it.
    pub(crate) floor: Arc<Floor>,
    pub(crate) report: Report,
    criterion: Criterion,
}

impl Bench {
    pub(crate) fn new(criterion: Criterion, runtime: Runtime) -> Self {
        let extension = runtime.block_on(lathe_tests::house::load(&["bench"], Default::default())).remove(0);
        Self {
            floor: Arc::new(Floor::new(&extension.file)),
            extension,
            report: Report::default(),
            criterion: criterion.sample_size(SAMPLES),
            runtime,
        }
    }

    /// The median time of one iteration, in nanoseconds; none if it is filtered out. `sample` takes so many iterations,
    /// on a worker of the runtime as a turn does, and tells what they took.
    pub(crate) fn median<F: Future<Output = Duration> + Send + 'static>(
        &mut self,
        name: &str,
        mut sample: impl FnMut(u32) -> F,
    ) -> Option<f64> {
        let runtime = &self.runtime;
        let mut samples = Vec::new();
        self.criterion.bench_function(name, |bencher| {
            bencher.iter_custom(|iterations| {
                let iterations = u32::try_from(iterations).unwrap();
                let task = sample(iterations);
                let time = runtime.block_on(async { tokio::spawn(task).await.unwrap() });
                samples.push(time.as_secs_f64() * 1e9 / f64::from(iterations));
                time
            });
        });
        // Those before were for warming up.
        middle(samples.split_off(samples.len().saturating_sub(SAMPLES)))
    }

    /// The same, as a figure of Lathe's.
    pub(crate) fn lathe<F: Future<Output = Duration> + Send + 'static>(
        &mut self,
        measure: Measure,
        sample: impl FnMut(u32) -> F,
    ) {
        if let Some(median) = self.median(measure.name(), sample) {
            self.report.lathe(measure, median);
        }
    }

    /// The same, as a figure of the bare wasmtime's.
    pub(crate) fn floor<F: Future<Output = Duration> + Send + 'static>(
        &mut self,
        measure: Measure,
        sample: impl FnMut(u32) -> F,
    ) {
        if let Some(median) = self.median(&format!("{}/wasmtime", measure.name()), sample) {
            self.report.peer(measure, "wasmtime, called bare", median);
        }
    }

    /// Ends the measuring.
    pub(crate) fn finish(self) -> Report {
        self.criterion.final_summary();
        self.report
    }
}

/// The median.
pub(crate) fn middle(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// The name of a session that is not there yet.
pub(crate) fn new_session() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed).to_string()
}
