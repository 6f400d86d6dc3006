-- What a list of sessions says of each, without reading its messages.
ALTER TABLE sessions ADD COLUMN messages INTEGER NOT NULL DEFAULT 0;
-- Of its messages, as they are stored.
ALTER TABLE sessions ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN changed_at TEXT;

UPDATE sessions SET
    messages = (SELECT count(*) FROM messages WHERE session_id = sessions.id),
    bytes = (SELECT coalesce(sum(octet_length(body)), 0) FROM messages WHERE session_id = sessions.id),
    changed_at = (SELECT max(created_at) FROM messages WHERE session_id = sessions.id);

CREATE TRIGGER message_added AFTER INSERT ON messages BEGIN
    UPDATE sessions SET messages = messages + 1, bytes = bytes + octet_length(new.body),
        changed_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') WHERE id = new.session_id;
END;

CREATE TRIGGER message_changed AFTER UPDATE OF body ON messages BEGIN
    UPDATE sessions SET bytes = bytes + octet_length(new.body) - octet_length(old.body),
        changed_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') WHERE id = new.session_id;
END;

CREATE TRIGGER message_deleted AFTER DELETE ON messages BEGIN
    UPDATE sessions SET messages = messages - 1, bytes = bytes - octet_length(old.body),
        changed_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') WHERE id = old.session_id;
END;
