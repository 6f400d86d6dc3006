use wasmtime::ResourceLimiter;

/// Bounds the linear memories of an instance together, and each of its tables.
///
/// wasmtime limits each memory by itself; a guest with many would get many times its share.
#[derive(Debug)]
pub(super) struct MemoryLimiter {
    limit: usize,
    table_elements: usize,
    used: usize,
    /// Set once something was refused: the guest then traps with an ordinary `unreachable`, which does not say why.
    pub(super) refused: bool,
}

impl MemoryLimiter {
    pub(super) fn new(limit: usize, table_elements: usize) -> Self {
        Self { limit, table_elements, used: 0, refused: false }
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }
}

impl ResourceLimiter for MemoryLimiter {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let used = self.used.saturating_add(desired.saturating_sub(current));
        if used > self.limit {
            self.refused = true;
            return Ok(false);
        }
        self.used = used;
        Ok(true)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let fits = desired <= self.table_elements;
        self.refused |= !fits;
        Ok(fits)
    }

    /// A component of many small ones is as costly as a large one. 64: composed components with adapters fit.
    fn instances(&self) -> usize {
        64
    }

    /// As `instances`.
    fn tables(&self) -> usize {
        64
    }

    /// As `instances`.
    fn memories(&self) -> usize {
        64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_share_one_limit() {
        let mut limiter = MemoryLimiter::new(100, 10);
        assert!(limiter.memory_growing(0, 60, None).unwrap());
        assert!(!limiter.memory_growing(0, 60, None).unwrap());
        assert!(limiter.refused);
        assert!(limiter.memory_growing(60, 100, None).unwrap(), "a refused growth takes nothing");
    }
}
