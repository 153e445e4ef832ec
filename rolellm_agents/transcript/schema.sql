-- The transcript, version 1. Rows are added and never changed; docs/design/transcript.md says why.

CREATE TABLE conversation (
    id       TEXT PRIMARY KEY,
    persona  TEXT NOT NULL,
    created  TEXT NOT NULL
) STRICT;

CREATE INDEX conversation_by_persona ON conversation (persona);

-- One node of the tree. An answer's row is written when its first words come.
CREATE TABLE message (
    number        INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    conversation  TEXT NOT NULL REFERENCES conversation (id),
    parent        INTEGER REFERENCES message (number),
    speaker       TEXT NOT NULL,
    audience      TEXT NOT NULL,  -- a JSON array of speakers
    kind          TEXT NOT NULL
        CHECK (kind IN ('say', 'whisper', 'think', 'act', 'narrate', 'join', 'leave')),
    made_by       TEXT NOT NULL,  -- a JSON object
    created       TEXT NOT NULL
) STRICT;

CREATE INDEX message_by_conversation ON message (conversation, number);
CREATE INDEX message_by_parent ON message (parent);

-- A message's words, written when it has ended. A message without a row here is still being written,
-- or its process died: then its words are those of its pieces.
CREATE TABLE body (
    message  INTEGER PRIMARY KEY REFERENCES message (number),
    text     TEXT NOT NULL,
    status   TEXT NOT NULL CHECK (status IN ('complete', 'stopped', 'failed')),
    usage    TEXT,           -- a JSON object
    made_by  TEXT NOT NULL,  -- a JSON object: what is known of its making only at the end
    ended    TEXT NOT NULL
) STRICT;

-- The journal of answers being written, each piece before it is shown. Gone once the body is there.
CREATE TABLE piece (
    message  INTEGER NOT NULL REFERENCES message (number),
    number   INTEGER NOT NULL,
    text     TEXT NOT NULL,
    PRIMARY KEY (message, number)
) STRICT, WITHOUT ROWID;

-- Where each branch has pointed; its newest row is where it points.
CREATE TABLE branch (
    number        INTEGER PRIMARY KEY,
    conversation  TEXT NOT NULL REFERENCES conversation (id),
    name          TEXT NOT NULL,
    head          INTEGER REFERENCES message (number),
    moved         TEXT NOT NULL
) STRICT;

CREATE INDEX branch_by_name ON branch (conversation, name, number);
