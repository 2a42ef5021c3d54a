CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sources (
    source TEXT PRIMARY KEY,
    signature TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    doc_id TEXT NOT NULL UNIQUE,
    source TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    text TEXT NOT NULL,
    metadata TEXT NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX documents_source ON documents (source);
CREATE TABLE passages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL REFERENCES documents (id),
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    first_word INTEGER NOT NULL,
    n_words INTEGER NOT NULL,
    first_piece INTEGER NOT NULL,
    n_pieces INTEGER NOT NULL,
    n_terms INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    data_checksum INTEGER NOT NULL DEFAULT 0,
    checksum INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX passages_document ON passages (document);
CREATE TABLE labels (
    id INTEGER PRIMARY KEY,
    field TEXT NOT NULL,
    value TEXT NOT NULL,
    UNIQUE (field, value)
);
CREATE TABLE passage_labels (
    label INTEGER NOT NULL REFERENCES labels (id),
    passage INTEGER NOT NULL REFERENCES passages (id),
    PRIMARY KEY (label, passage)
) WITHOUT ROWID;
CREATE INDEX passage_labels_passage ON passage_labels (passage);
