-- One message that is read in the place of a range of a conversation. The messages of the range stay where they are.
CREATE TABLE compactions (
    session_id INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    -- The first and the last message of the range, an ancestor and what came of it.
    from_number INTEGER NOT NULL REFERENCES messages (number) ON DELETE CASCADE,
    to_number INTEGER NOT NULL REFERENCES messages (number) ON DELETE CASCADE,
    summary_id TEXT NOT NULL,
    -- The whole message as JSON.
    summary TEXT NOT NULL,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    PRIMARY KEY (to_number, from_number)
) STRICT, WITHOUT ROWID;

CREATE INDEX compactions_by_from ON compactions (from_number);
CREATE UNIQUE INDEX compactions_by_session ON compactions (session_id, summary_id);

-- What answers a message, and what a message that is deleted must not leave behind.
CREATE INDEX messages_by_parent ON messages (parent_number, session_id);
CREATE INDEX sessions_by_leaf ON sessions (leaf_number);
