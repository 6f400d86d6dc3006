//! What people and models write for a moment.

use jiff::Zoned;
use jiff::civil::Time;
use jiff::fmt::temporal::{Pieces, TimeZoneAnnotationKind};
use jiff::tz::TimeZone;
use lathe_guest::ToolError;

use crate::zone;

/// A moment in a zone: the given one, or the one that the text tells, or UTC.
pub(crate) fn parse(text: &str, zone: Option<TimeZone>) -> Result<Zoned, ToolError> {
    let wrong = |error: jiff::Error| ToolError::InvalidInput(format!("`{text}` is no time: {error}"));
    let pieces = Pieces::parse(text).map_err(wrong)?;
    let moment = if let Some(own) = pieces.time_zone_annotation() {
        if let TimeZoneAnnotationKind::Named(name) = own.kind() {
            zone::named(name.as_str())?;
        }
        // Checks that offset and zone agree.
        text.parse::<Zoned>().map_err(wrong)?
    } else {
        let own = pieces.to_numeric_offset().map(TimeZone::fixed);
        let local = pieces.date().to_datetime(pieces.time().unwrap_or_else(Time::midnight));
        let own = own.or_else(|| zone.clone()).unwrap_or(TimeZone::UTC);
        local.to_zoned(own).map_err(wrong)?
    };
    Ok(match zone {
        Some(zone) => moment.with_time_zone(zone),
        None => moment,
    })
}
