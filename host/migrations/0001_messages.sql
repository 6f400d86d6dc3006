CREATE TABLE sessions (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;

-- A tree: each message knows the one that it answers. `number` is the order of arrival in the whole database.
CREATE TABLE messages (
    number INTEGER PRIMARY KEY,
    session_id INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    message_id TEXT NOT NULL,
    parent_number INTEGER REFERENCES messages (number),
    role TEXT NOT NULL,
    -- The whole message as JSON: id, role, parts, metadata.
    body TEXT NOT NULL,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    UNIQUE (session_id, message_id)
) STRICT;

CREATE INDEX messages_by_session ON messages (session_id, number);
