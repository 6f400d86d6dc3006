use anyhow::Context;

/// Of a page, on every machine that has `/proc`.
const PAGE: usize = 4096;

/// The memory that this process has now, in bytes.
pub(super) fn resident() -> anyhow::Result<usize> {
    let text = std::fs::read_to_string("/proc/self/statm")?;
    let pages: usize = text.split(' ').nth(1).context("the second number of statm")?.parse()?;
    Ok(pages * PAGE)
}
