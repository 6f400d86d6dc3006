CREATE TABLE extension_storage (
    extension TEXT NOT NULL,
    key TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (extension, key)
) STRICT, WITHOUT ROWID;
