/// A field of an input.
pub(in crate::extensions) struct Line {
    /// Up to the first space.
    pub(in crate::extensions) name: String,
    /// The rest.
    pub(in crate::extensions) value: String,
}

impl Line {
    /// The value as a number, or whatever else can be read.
    pub(in crate::extensions) fn read<T: std::str::FromStr>(self) -> Option<T> {
        self.value.parse().ok()
    }
}

/// The fields of an input. What is no UTF-8 is replaced, as it is no guest's text either.
pub(in crate::extensions) fn lines(bytes: &[u8]) -> Vec<Line> {
    let text = String::from_utf8_lossy(bytes);
    let line = |line: &str| {
        let (name, value) = line.split_once(' ').unwrap_or((line, ""));
        Line { name: name.to_owned(), value: value.replace('↵', "\n") }
    };
    text.lines().map(line).collect()
}
