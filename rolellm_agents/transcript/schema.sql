-- The transcript, version 4. Messages are never changed, and deleted only from the bin; docs/design/transcript.md
-- gives the reasons.
-- Times are milliseconds since 1970 in UTC.

CREATE TABLE conversation (
    number      INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    persona     TEXT NOT NULL,
    created     INTEGER NOT NULL,
    extensions  TEXT  -- a JSON object: what an imported file told of it and we do not use
) STRICT;

-- The newest row is a conversation's title; an empty one removes the title.
CREATE TABLE title (
    number        INTEGER PRIMARY KEY,
    conversation  INTEGER NOT NULL REFERENCES conversation (number),
    text          TEXT NOT NULL,
    given         INTEGER NOT NULL
) STRICT;

CREATE INDEX title_by_conversation ON title (conversation);

-- The newest row says whether a conversation is archived.
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

-- A branch points to the newest message that was added on it, until it is moved.
CREATE TABLE move (
    number  INTEGER PRIMARY KEY,
    branch  INTEGER NOT NULL REFERENCES branch (number),
    head    INTEGER REFERENCES message (number),
    after   INTEGER NOT NULL,  -- the newest message of all when it was moved; 0 when there was none
    moved   INTEGER NOT NULL
) STRICT;

CREATE INDEX move_by_branch ON move (branch);
CREATE INDEX move_by_head ON move (head);

-- Combinations of speaker, audience and kind, each shared by many messages.
CREATE TABLE manner (
    number    INTEGER PRIMARY KEY,
    speaker   TEXT NOT NULL,
    audience  TEXT NOT NULL,  -- a JSON array of speakers
    kind      TEXT NOT NULL
        CHECK (kind IN ('say', 'whisper', 'think', 'act', 'narrate', 'join', 'leave')),
    UNIQUE (speaker, audience, kind)
) STRICT;

-- One node of the tree. An answer's row is inserted with its first words. When the answer ends, the last
-- three columns are filled and `made_by` is completed; from then on the row does not change. A message
-- without a status is still being written, or its process died; its text is then that of its pieces.
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

-- Summaries of a conversation up to a message, for prompts that cannot hold it. The newest row of a message is
-- valid; an empty one removes the summary.
CREATE TABLE summary (
    number   INTEGER PRIMARY KEY,
    text     TEXT NOT NULL,
    message  INTEGER NOT NULL REFERENCES message (number),
    written  INTEGER NOT NULL
) STRICT;

CREATE INDEX summary_by_message ON summary (message);

-- A branch that is deleted forever leaves the messages that it shares to another one.
CREATE TRIGGER message_ends_once
BEFORE UPDATE OF number, id, parent, manner, created, made_by, usage, status, took, text ON message
WHEN old.status IS NOT NULL
BEGIN SELECT raise(ABORT, 'what was said cannot be changed'); END;

-- The bin: what the user has deleted, and can take back until it is emptied. One deletion, which has one id, is one
-- row, or several for everything of a persona.
CREATE TABLE removal (
    number        INTEGER PRIMARY KEY,
    id            TEXT NOT NULL,
    kind          TEXT NOT NULL CHECK (kind IN ('message', 'branch', 'conversation', 'draft')),
    conversation  INTEGER REFERENCES conversation (number),  -- null for a draft
    root          INTEGER REFERENCES message (number) DEFERRABLE INITIALLY DEFERRED,  -- of a message or a branch
    branch        INTEGER REFERENCES branch (number),  -- that was deleted
    name          TEXT,                -- of the deleted branch; the persona of a draft
    text          TEXT,                -- of a draft
    deleted       INTEGER NOT NULL,
    emptying      INTEGER NOT NULL CHECK (emptying IN (0, 1))  -- 1: it cannot be taken back, and rows are being deleted
) STRICT;

CREATE INDEX removal_by_conversation ON removal (conversation);
CREATE INDEX removal_by_root ON removal (root);
CREATE INDEX removal_by_branch ON removal (branch);

-- The messages in the bin.
CREATE TABLE binned (
    message  INTEGER PRIMARY KEY REFERENCES message (number) DEFERRABLE INITIALLY DEFERRED,
    removal  INTEGER NOT NULL REFERENCES removal (number)
) STRICT;

CREATE INDEX binned_by_removal ON binned (removal, message);

-- What was deleted forever, as numbers: messages get no number twice, and their gaps are no damage.
CREATE TABLE emptied (
    number    INTEGER PRIMARY KEY,
    messages  INTEGER NOT NULL,
    highest   INTEGER NOT NULL,  -- the highest number that a message had at that time
    wiped     TEXT NOT NULL CHECK (wiped IN ('no', 'begun', 'file', 'log'))  -- where no deleted text is left
) STRICT;

CREATE TRIGGER message_stays BEFORE DELETE ON message
WHEN NOT EXISTS (SELECT 1 FROM binned JOIN removal ON removal.number = binned.removal
                 WHERE binned.message = old.number AND removal.emptying)
BEGIN SELECT raise(ABORT, 'what was said cannot be deleted'); END;

-- What is not in the bin. Everything that shows, finds or counts reads these.
CREATE VIEW kept_message AS SELECT * FROM message
WHERE NOT EXISTS (SELECT 1 FROM binned WHERE binned.message = message.number);

CREATE VIEW kept_conversation AS SELECT * FROM conversation
WHERE NOT EXISTS (SELECT 1 FROM removal WHERE removal.conversation = conversation.number
                  AND removal.kind = 'conversation');

CREATE VIEW kept_branch AS SELECT * FROM branch
WHERE NOT EXISTS (SELECT 1 FROM removal WHERE removal.branch = branch.number);

-- The journal of unfinished answers. Each piece is stored before it is shown, and deleted when the message ends.
CREATE TABLE piece (
    message  INTEGER NOT NULL REFERENCES message (number),
    number   INTEGER NOT NULL,
    text     TEXT NOT NULL,
    PRIMARY KEY (message, number)
) STRICT, WITHOUT ROWID;

-- The user's unsent lines. They are not messages, so a newer one replaces an older one.
CREATE TABLE draft (
    key   TEXT PRIMARY KEY,
    text  TEXT NOT NULL,
    kept  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The words of each message. `search_words.py` splits texts into words, so the tokenizer only splits at
-- spaces. The index stores no text and no positions, with which it would be larger than the text.
CREATE VIRTUAL TABLE word USING fts5
    (words, content = '', tokenize = 'ascii', detail = none, columnsize = 0);
