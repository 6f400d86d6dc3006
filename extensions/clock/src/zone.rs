//! Time zones by name.

use jiff::tz::{self, TimeZone};
use lathe_guest::ToolError;

/// How like a name must be to what was asked for, from 0 to 1, before it is worth showing.
const LIKE: f64 = 0.8;

const SUGGESTIONS: usize = 3;

/// The zone of an IANA name, whatever its case.
pub(crate) fn named(name: &str) -> Result<TimeZone, ToolError> {
    TimeZone::get(name).map_err(|_| {
        let near = near(name);
        let hint =
            if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(" or ")) };
        ToolError::InvalidInput(format!("unknown time zone `{name}`{hint}"))
    })
}

/// The names most like `name`, as a whole or in their last part: people know the city and not the continent.
fn near(name: &str) -> Vec<String> {
    let wanted = name.trim().replace(' ', "_").to_lowercase();
    let wanted_city = city(&wanted);
    let mut names: Vec<(f64, String)> = tz::db()
        .available()
        .map(|zone| {
            let zone = zone.as_str();
            let known = zone.to_lowercase();
            let whole = strsim::normalized_damerau_levenshtein(&known, &wanted);
            let part = strsim::normalized_damerau_levenshtein(city(&known), wanted_city);
            (whole.max(part), zone.to_owned())
        })
        .filter(|(like, _)| *like >= LIKE)
        .collect();
    names.sort_by(|(left, a), (right, b)| right.total_cmp(left).then_with(|| a.cmp(b)));
    names.into_iter().take(SUGGESTIONS).map(|(_, name)| name).collect()
}

fn city(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}
