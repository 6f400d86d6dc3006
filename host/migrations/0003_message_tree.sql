-- Where a conversation stands: the message that the next one answers. Regenerating an answer moves it to a sibling.
ALTER TABLE sessions ADD COLUMN leaf_number INTEGER REFERENCES messages (number);

UPDATE sessions SET leaf_number = (SELECT max(number) FROM messages WHERE session_id = sessions.id);

-- What the last client request said beyond its message, for turns that follow without one: JSON of an object.
ALTER TABLE sessions ADD COLUMN last_request TEXT;
