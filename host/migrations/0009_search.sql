-- The words of messages, by their numbers. Derived: it can be thrown away and made again.
CREATE VIRTUAL TABLE message_texts USING fts5 (
    -- `s` and the session's id: a search within one session goes through no other's.
    session,
    text,
    content = '',
    contentless_delete = 1
);

-- Messages whose words are not in there yet, or are those of an earlier version. A search takes them up: no turn has to.
CREATE TABLE unindexed (
    session_id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (session_id, number)
) STRICT, WITHOUT ROWID;

INSERT INTO unindexed SELECT session_id, number FROM messages;

CREATE TRIGGER words_added AFTER INSERT ON messages BEGIN
    INSERT OR IGNORE INTO unindexed VALUES (new.session_id, new.number);
END;

CREATE TRIGGER words_changed AFTER UPDATE OF body ON messages BEGIN
    INSERT OR IGNORE INTO unindexed VALUES (new.session_id, new.number);
END;

CREATE TRIGGER words_deleted AFTER DELETE ON messages BEGIN
    DELETE FROM message_texts WHERE rowid = old.number;
    DELETE FROM unindexed WHERE session_id = old.session_id AND number = old.number;
END;
