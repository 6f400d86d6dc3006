-- Turns that wait or run: what a crash leaves to be taken up. A turn that is over is not here.
CREATE TABLE turns (
    -- The order in which they were admitted.
    number INTEGER PRIMARY KEY,
    session_id INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    request_id TEXT NOT NULL,
    -- As JSON: what it began with.
    body TEXT NOT NULL,
    begun INTEGER NOT NULL DEFAULT 0,
    -- Spans of 5 s in which something came, and the beginning of the last one, in milliseconds since 1970.
    work INTEGER NOT NULL DEFAULT 0,
    work_at INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER)),
    UNIQUE (session_id, request_id)
) STRICT;

-- The stream of a running turn, in packs: a JSON chunk a line.
CREATE TABLE turn_chunks (
    turn_number INTEGER NOT NULL REFERENCES turns (number) ON DELETE CASCADE,
    pack INTEGER NOT NULL,
    chunks TEXT NOT NULL,
    PRIMARY KEY (turn_number, pack)
) STRICT, WITHOUT ROWID;

-- Interruptions of a turn and of those that took it up, by the request with which it began.
CREATE TABLE incidents (
    session_id INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    root_request_id TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (session_id, root_request_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE submissions (
    -- The order in which they came.
    number INTEGER PRIMARY KEY,
    session_id INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    submission_id TEXT NOT NULL,
    -- The turn that works on it.
    request_id TEXT NOT NULL,
    idempotency_key TEXT,
    status TEXT NOT NULL DEFAULT 'pending',
    -- As JSON: the messages.
    messages TEXT NOT NULL,
    -- Whether they are part of the conversation.
    applied INTEGER NOT NULL DEFAULT 0,
    metadata TEXT,
    error TEXT,
    created_at INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER)),
    started_at INTEGER,
    completed_at INTEGER,
    UNIQUE (session_id, submission_id),
    UNIQUE (session_id, idempotency_key)
) STRICT;

CREATE INDEX submissions_open ON submissions (session_id, request_id) WHERE status IN ('pending', 'running');

-- Which process has the session's turns: the name of its lock file.
ALTER TABLE sessions ADD COLUMN holder TEXT;
