use wasmtime::ResourceLimiter;

use super::limits::Limits;

/// Bounds the linear memories of an instance together, each of its tables, and the number of its parts.
///
/// wasmtime limits each memory by itself; a guest with many would get many times its share.
#[derive(Debug)]
pub(super) struct MemoryLimiter {
    limit: usize,
    table_elements: usize,
    parts: usize,
    used: usize,
    /// What was refused, if anything was: the guest then traps with an ordinary `unreachable`, which does not say why.
    pub(super) refused: Option<Refused>,
}

/// What an instance was not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    Memory,
    Table,
}

impl MemoryLimiter {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            limit: limits.memory_bytes,
            table_elements: limits.table_elements(),
            parts: limits.parts,
            used: 0,
            refused: None,
        }
    }

    /// The most memory that the instance has had, in bytes: linear memories never shrink.
    pub(super) fn used(&self) -> usize {
        self.used
    }
}

impl ResourceLimiter for MemoryLimiter {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let used = self.used.saturating_add(desired.saturating_sub(current));
        if used > self.limit {
            self.refused = Some(Refused::Memory);
            return Ok(false);
        }
        self.used = used;
        Ok(true)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let fits = desired <= self.table_elements;
        if !fits {
            self.refused = Some(Refused::Table);
        }
        Ok(fits)
    }

    fn instances(&self) -> usize {
        self.parts
    }

    fn tables(&self) -> usize {
        self.parts
    }

    fn memories(&self) -> usize {
        self.parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_share_one_limit() {
        let limits = Limits { memory_bytes: 100, table_elements: 10, ..Limits::default() };
        let mut limiter = MemoryLimiter::new(&limits);
        assert!(limiter.memory_growing(0, 60, None).unwrap());
        assert!(!limiter.memory_growing(0, 60, None).unwrap());
        assert_eq!(limiter.refused, Some(Refused::Memory));
        assert!(limiter.memory_growing(60, 100, None).unwrap(), "a refused growth takes nothing");
        assert_eq!(limiter.used(), 100);
        assert!(!limiter.table_growing(0, 11, None).unwrap());
        assert_eq!(limiter.refused, Some(Refused::Table));
    }
}
