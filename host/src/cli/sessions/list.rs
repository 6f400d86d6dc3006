use super::{ListArgs, SearchArgs, explain};
use crate::cli::Done;
use crate::cli::ext::table;
use crate::cli::print::whole;
use crate::cli::problem::Problem;
use crate::config::Config;
use crate::store::{HITS, Store, StoreError};

pub(super) async fn list(args: ListArgs, config: Config) -> Result<Done, Problem> {
    let sessions = match args.data.open(config).await? {
        None => Vec::new(),
        Some(store) => {
            let sessions = store.sessions().await?;
            store.close().await;
            sessions
        }
    };
    if args.json {
        return whole(&format!("{:#}\n", serde_json::json!(sessions)));
    }
    let mut rows = vec![["NAME", "MESSAGES", "SIZE", "CHANGED"].map(String::from)];
    rows.extend(sessions.into_iter().map(|session| {
        [session.name, session.messages.to_string(), size(session.bytes), seconds(&session.changed_at)]
    }));
    whole(&table(&rows))
}

pub(super) async fn search(args: SearchArgs, config: Config) -> Result<Done, Problem> {
    let Some(store) = args.data.open(config).await? else {
        return whole(if args.json { "[]\n" } else { "" });
    };
    if let Some(session) = &args.session
        && store.session(session).await?.is_none()
    {
        return Err(explain(&store, StoreError::NoSession(session.clone())).await);
    }
    let hits = store.search(args.session.as_deref(), &args.phrase).await?;
    store.close().await;
    if args.json {
        return whole(&format!("{:#}\n", serde_json::json!(hits)));
    }
    let many = hits.len();
    let mut rows = vec![["SESSION", "MESSAGE", "TIME", "ROLE", "TEXT"].map(String::from)];
    rows.extend(
        hits.into_iter()
            .map(|hit| [hit.session, hit.message_id, seconds(&hit.created_at), hit.role, hit.excerpt]),
    );
    let mut text = if many == 0 { String::new() } else { table(&rows) };
    if many == HITS {
        text += &format!("the newest {HITS}; there may be more\n");
    }
    whole(&text)
}

/// Of a time, what a person reads.
fn seconds(time: &str) -> String {
    time.get(..19).unwrap_or(time).replace('T', " ")
}

/// In the largest unit of which there is one.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["B", "KiB", "MiB", "GiB"];
    let mut size = bytes;
    let mut rest = 0;
    let mut unit = 0;
    while size >= 1_024 && unit + 1 < UNITS.len() {
        rest = size % 1_024 * 10 / 1_024;
        size /= 1_024;
        unit += 1;
    }
    let name = UNITS.get(unit).unwrap_or(&"B");
    if unit == 0 { format!("{size} {name}") } else { format!("{size}.{rest} {name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_for_people() {
        let shown = [0, 1_023, 1_024, 1_536, 5 << 20, 3 << 40].map(size);
        assert_eq!(shown, ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "5.0 MiB", "3072.0 GiB"]);
        assert_eq!(seconds("2026-01-31T12:00:00.000Z"), "2026-01-31 12:00:00");
    }
}
