-- The transcript, version 3. Nothing said is ever changed or deleted; docs/design/transcript.md says why.
-- Times are milliseconds since 1970 in UTC.

CREATE TABLE conversation (
    number      INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    persona     TEXT NOT NULL,
    created     INTEGER NOT NULL,
    extensions  TEXT  -- a JSON object: what an imported file told of it and we do not use
) STRICT;

-- The newest row is a conversation's title; an empty one takes the title away.
CREATE TABLE title (
    number        INTEGER PRIMARY KEY,
    conversation  INTEGER NOT NULL REFERENCES conversation (number),
    text          TEXT NOT NULL,
    given         INTEGER NOT NULL
) STRICT;

CREATE INDEX title_by_conversation ON title (conversation);

-- The newest row says whether a conversation is put away.
CREATE TABLE archiving (
    number        INTEGER PRIMARY KEY,
    conversation  INTEGER NOT NULL REFERENCES conversation (number),
    archived      INTEGER NOT NULL CHECK (archived IN (0, 1)),
    decided       INTEGER NOT NULL
) STRICT;

CREATE INDEX archiving_by_conversation ON archiving (conversation);

-- The newest row is the author's note of a conversation.
CREATE TABLE note (
    number        INTEGER PRIMARY KEY,
    conversation  INTEGER NOT NULL REFERENCES conversation (number),
    text          TEXT NOT NULL,
    written       INTEGER NOT NULL
) STRICT;

CREATE INDEX note_by_conversation ON note (conversation);

CREATE TABLE branch (
    number        INTEGER PRIMARY KEY,
    conversation  INTEGER NOT NULL REFERENCES conversation (number),
    name          TEXT NOT NULL,
    UNIQUE (conversation, name)
) STRICT;

-- A branch points to the newest message that was said on it, until it is moved.
CREATE TABLE move (
    number  INTEGER PRIMARY KEY,
    branch  INTEGER NOT NULL REFERENCES branch (number),
    head    INTEGER REFERENCES message (number),
    after   INTEGER NOT NULL,  -- the newest message of all when it was moved; 0 when there was none
    moved   INTEGER NOT NULL
) STRICT;

CREATE INDEX move_by_branch ON move (branch);

-- Who spoke to whom and how: few ways, shared by many messages.
CREATE TABLE manner (
    number    INTEGER PRIMARY KEY,
    speaker   TEXT NOT NULL,
    audience  TEXT NOT NULL,  -- a JSON array of speakers
    kind      TEXT NOT NULL
        CHECK (kind IN ('say', 'whisper', 'think', 'act', 'narrate', 'join', 'leave')),
    UNIQUE (speaker, audience, kind)
) STRICT;

-- One node of the tree. An answer's row is written when its first words come. When it has ended, the last
-- three columns are filled, and what made it is told in full; from then on the row stays as it is. A message
-- without a status is still being written, or its process died: then its words are those of its pieces.
CREATE TABLE message (
    number   INTEGER PRIMARY KEY,
    id       BLOB NOT NULL UNIQUE,
    branch   INTEGER NOT NULL REFERENCES branch (number),  -- on which it was said
    parent   INTEGER REFERENCES message (number),
    manner   INTEGER NOT NULL REFERENCES manner (number),
    created  INTEGER NOT NULL,
    made_by  TEXT,                               -- a JSON object, as far as it is known; null when empty
    usage    TEXT,                               -- a JSON object: token counts
    status   INTEGER CHECK (status IN (0, 1, 2)),  -- complete, stopped, failed
    took     INTEGER,                            -- milliseconds; null when it came in one piece
    text     TEXT,
    CHECK ((status IS NULL) = (text IS NULL))
) STRICT;

CREATE INDEX message_by_branch ON message (branch);
CREATE INDEX message_by_parent ON message (parent, branch);

CREATE TRIGGER message_ends_once BEFORE UPDATE ON message WHEN old.status IS NOT NULL
BEGIN SELECT raise(ABORT, 'what was said cannot be changed'); END;

CREATE TRIGGER message_stays BEFORE DELETE ON message
BEGIN SELECT raise(ABORT, 'what was said cannot be deleted'); END;

-- The journal of answers being written, each piece before it is shown. Gone once the message has ended.
CREATE TABLE piece (
    message  INTEGER NOT NULL REFERENCES message (number),
    number   INTEGER NOT NULL,
    text     TEXT NOT NULL,
    PRIMARY KEY (message, number)
) STRICT, WITHOUT ROWID;

-- What the person was typing; no message, so a newer one replaces it.
CREATE TABLE draft (
    key   TEXT PRIMARY KEY,
    text  TEXT NOT NULL,
    kept  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Which messages have which words; `search_words.py` tells what a word is, so that the tokenizer only has
-- to split at spaces. It holds no text and no positions, or it would be larger than the text.
CREATE VIRTUAL TABLE word USING fts5
    (words, content = '', tokenize = 'ascii', detail = none, columnsize = 0);
