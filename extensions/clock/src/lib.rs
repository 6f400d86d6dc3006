//! The time in any time zone, and durations added to it.

mod time;
mod zone;

use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};
use lathe_guest::prelude::*;

#[derive(Default)]
struct Clock;

#[extension]
impl Extension for Clock {
    fn tools() -> Tools<Self> {
        Tools::new()
            .with(Tool::new("now", Self::now).replay_safe())
            .with(Tool::new("add_duration", Self::add_duration).replay_safe())
    }
}

/// The current date and time in a time zone.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Now {
    /// IANA name, such as Europe/Berlin. UTC if absent.
    time_zone: Option<String>,
}

/// Adds a duration to a time. Days, weeks, months and years follow the calendar of the time zone; hours, minutes and
/// seconds are exact, also where clocks change.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AddDuration {
    /// RFC 3339 or RFC 9557, such as 2026-03-29T01:30:00Z or 2026-03-29T01:30[Europe/Berlin]. Without an offset, it is
    /// local time in the time zone. The current time if absent.
    time: Option<String>,
    /// ISO 8601 or in words: P1DT2H, 2 days 3h, -PT90M, 1 week ago.
    duration: String,
    /// IANA name, such as Europe/Berlin. The zone or offset of the time if absent, or else UTC.
    time_zone: Option<String>,
}

/// A moment as both tools tell it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Moment {
    time: String,
    time_zone: String,
    weekday: String,
    unix_seconds: i64,
}

impl From<&Zoned> for Moment {
    fn from(moment: &Zoned) -> Self {
        Self {
            time: moment.to_string(),
            time_zone: moment
                .time_zone()
                .iana_name()
                .map_or_else(|| moment.offset().to_string(), str::to_owned),
            // Its name. `strftime` would add 36 kB to the component.
            weekday: format!("{:?}", moment.weekday()),
            unix_seconds: moment.timestamp().as_second(),
        }
    }
}

impl Clock {
    fn now(&mut self, Now { time_zone }: Now) -> Result<Moment, ToolError> {
        let zone = time_zone.as_deref().map_or(Ok(TimeZone::UTC), zone::named)?;
        Ok(Moment::from(&now()?.to_zoned(zone)))
    }

    fn add_duration(
        &mut self,
        AddDuration { time, duration, time_zone }: AddDuration,
    ) -> Result<Moment, ToolError> {
        let zone = time_zone.as_deref().map(zone::named).transpose()?;
        let start = match time {
            Some(time) => time::parse(&time, zone)?,
            None => now()?.to_zoned(zone.unwrap_or(TimeZone::UTC)),
        };
        let duration: Span = duration.parse().map_err(ToolError::invalid)?;
        Ok(Moment::from(&start.checked_add(duration).map_err(ToolError::invalid)?))
    }
}

/// In whole seconds, so that all the fields of a [`Moment`] tell the same one.
fn now() -> Result<Timestamp> {
    Ok(Timestamp::from_second(Timestamp::now().as_second())?)
}

#[cfg(test)]
mod tests;
