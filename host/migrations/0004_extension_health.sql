CREATE TABLE extension_health (
    extension TEXT PRIMARY KEY,
    -- As JSON: strikes, quarantine, last error, totals.
    body TEXT NOT NULL,
    -- Milliseconds since 1970.
    written_at INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER))
) STRICT, WITHOUT ROWID;
