CREATE TABLE context_blocks (
    session TEXT NOT NULL,
    -- With the prefix of the extension that it belongs to.
    label TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (session, label)
) STRICT, WITHOUT ROWID;
