use std::collections::HashSet;

use parking_lot::Mutex;

/// Models that are counted each by its own name: 32. An extension that makes up names must not fill the memory.
const MODELS: usize = 32;

/// What stands for all others.
const OTHER: &str = "other";

/// The models that have a name of their own in the metrics.
#[derive(Default)]
pub(super) struct Models(Mutex<HashSet<String>>);

impl Models {
    /// The label of a model.
    pub(super) fn label(&self, model: &str) -> String {
        let mut known = self.0.lock();
        if !known.contains(model) {
            if known.len() >= MODELS {
                return OTHER.into();
            }
            known.insert(model.to_owned());
        }
        model.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_made_up_do_not_fill_the_memory() {
        let models = Models::default();
        assert_eq!(models.label("demo"), "demo");
        for number in 1..MODELS {
            assert_eq!(models.label(&format!("m:{number}")), format!("m:{number}"));
        }
        assert_eq!((models.label("one more"), models.label("demo")), (OTHER.into(), "demo".into()));
    }
}
