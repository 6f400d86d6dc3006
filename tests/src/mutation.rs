//! Mutations of inputs, the same in every run.

/// Makes inputs of others.
pub struct Mutation {
    state: u64,
}

/// Bytes and texts at which readers err.
const WORDS: [&[u8]; 20] = [
    b"\0",
    b"\xff",
    b"\x7f",
    b"\x80",
    b"\n",
    b" ",
    b"\"",
    b"\\",
    b"[",
    b"{",
    b"*",
    b".",
    b"-",
    b"@",
    b":",
    "\u{2028}".as_bytes(),
    b"NaN",
    b"-1",
    b"18446744073709551616",
    b"1e309",
];

impl Mutation {
    /// From that seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// One of these, changed in one to four places, now and then with another one's lines in it. At least one must be
    /// given.
    #[must_use]
    pub fn of(&mut self, seeds: &[&[u8]]) -> Vec<u8> {
        let Some(seed) = self.pick(seeds) else { return Vec::new() };
        let mut bytes = seed.to_vec();
        // What is inside of a binary file is only looked at if its lengths stay right.
        let in_place = seed.starts_with(b"\0asm") && self.below(4) > 0;
        for _ in 0..=self.below(3) {
            if in_place {
                self.replace(&mut bytes);
            } else {
                self.change(&mut bytes, seeds);
            }
        }
        bytes
    }

    /// Changes one byte.
    fn replace(&mut self, bytes: &mut [u8]) {
        let value = self.next().to_le_bytes()[0];
        let (at, kind) = (self.below(bytes.len()), self.below(3));
        if let Some(byte) = bytes.get_mut(at) {
            *byte = match kind {
                0 => value,
                1 => *byte ^ (1 << (value % 8)),
                _ => byte.wrapping_add(1),
            };
        }
    }

    fn change(&mut self, bytes: &mut Vec<u8>, seeds: &[&[u8]]) {
        let at = self.below(bytes.len());
        let end = (at + self.below(16)).min(bytes.len());
        match self.below(8) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let word = self.pick(&WORDS).unwrap_or_default();
                bytes.splice(at..at, word.iter().copied());
            }
            3 => {
                let piece = bytes.get(at..end).unwrap_or_default().to_vec();
                bytes.splice(at..at, piece);
            }
            4 => {
                let lines: Vec<&[u8]> =
                    self.pick(seeds).unwrap_or_default().split_inclusive(|byte| *byte == b'\n').collect();
                let line = self.pick(&lines).unwrap_or_default();
                let start = bytes.iter().skip(at).position(|byte| *byte == b'\n');
                let start = start.map_or(bytes.len(), |start| at + start + 1);
                bytes.splice(start..start, line.iter().copied());
            }
            _ => self.replace(bytes),
        }
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> Option<&'a T> {
        from.get(self.below(from.len())).copied()
    }

    /// A number below that limit; 0 if the limit is.
    pub fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.next() % limit).unwrap_or(0)
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
