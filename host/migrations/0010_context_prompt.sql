-- What the system prompt says of the context blocks, as JSON, until it is rendered anew.
ALTER TABLE sessions ADD COLUMN context_prompt TEXT;
