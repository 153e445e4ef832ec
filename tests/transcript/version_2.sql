BEGIN TRANSACTION;
CREATE TABLE conversation (
    number      INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    persona     TEXT NOT NULL,
    created     INTEGER NOT NULL,
    extensions  TEXT  -- a JSON object: what an imported file told of it and we do not use
) STRICT;
CREATE TABLE title (
    number        INTEGER PRIMARY KEY,
    conversation  INTEGER NOT NULL REFERENCES conversation (number),
    text          TEXT NOT NULL,
    given         INTEGER NOT NULL
) STRICT;
CREATE TABLE archiving (
    number        INTEGER PRIMARY KEY,
    conversation  INTEGER NOT NULL REFERENCES conversation (number),
    archived      INTEGER NOT NULL CHECK (archived IN (0, 1)),
    decided       INTEGER NOT NULL
) STRICT;
CREATE TABLE note (
    number        INTEGER PRIMARY KEY,
    conversation  INTEGER NOT NULL REFERENCES conversation (number),
    text          TEXT NOT NULL,
    written       INTEGER NOT NULL
) STRICT;
CREATE TABLE branch (
    number        INTEGER PRIMARY KEY,
    conversation  INTEGER NOT NULL REFERENCES conversation (number),
    name          TEXT NOT NULL,
    UNIQUE (conversation, name)
) STRICT;
CREATE TABLE move (
    number  INTEGER PRIMARY KEY,
    branch  INTEGER NOT NULL REFERENCES branch (number),
    head    INTEGER REFERENCES message (number),
    after   INTEGER NOT NULL,  -- the newest message of all when it was moved; 0 when there was none
    moved   INTEGER NOT NULL
) STRICT;
CREATE TABLE manner (
    number    INTEGER PRIMARY KEY,
    speaker   TEXT NOT NULL,
    audience  TEXT NOT NULL,  -- a JSON array of speakers
    kind      TEXT NOT NULL
        CHECK (kind IN ('say', 'whisper', 'think', 'act', 'narrate', 'join', 'leave')),
    UNIQUE (speaker, audience, kind)
) STRICT;
CREATE TABLE shape (
    number  INTEGER PRIMARY KEY,
    digest  INTEGER NOT NULL,  -- of the JSON, to find it by
    json    ANY NOT NULL       -- as it is, or where that is shorter, raw deflate
) STRICT;
CREATE TABLE message (
    number   INTEGER PRIMARY KEY,
    id       BLOB NOT NULL UNIQUE,
    branch   INTEGER NOT NULL REFERENCES branch (number),  -- on which it was said
    parent   INTEGER REFERENCES message (number),
    manner   INTEGER NOT NULL REFERENCES manner (number),
    created  INTEGER NOT NULL,
    shape    INTEGER REFERENCES shape (number),  -- {"made_by": …, "usage": …}, as far as it is known
    own      ANY,                                -- what goes into its gaps, with U+001F between
    status   INTEGER CHECK (status IN (0, 1, 2)),  -- complete, stopped, failed
    took     INTEGER,                            -- milliseconds; null when it came in one piece
    text     ANY,                                -- as it is, or where that is shorter, raw deflate
    CHECK ((status IS NULL) = (text IS NULL))
) STRICT;
CREATE TABLE piece (
    message  INTEGER NOT NULL REFERENCES message (number),
    number   INTEGER NOT NULL,
    text     TEXT NOT NULL,
    PRIMARY KEY (message, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE draft (
    key   TEXT PRIMARY KEY,
    text  TEXT NOT NULL,
    kept  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO conversation VALUES (1, '3a8a7be2', 'silent', 1795297368303, NULL);
INSERT INTO conversation VALUES (2, '349ccc03', 'ada', 1795297368304, NULL);
INSERT INTO conversation VALUES (3, 'e22fad65', 'li-bai', 1795297368331, NULL);
INSERT INTO conversation VALUES (4, '16fc1bee', 'ada', 1795423125598, '{"sillytavern":{"chat_metadata":{"n":1.5,"x":null}}}');
INSERT INTO conversation VALUES (5, '8f6187f4', 'ada', 1795423125640, NULL);
INSERT INTO title VALUES (1, 4, 'The lamp', 1795423125620);
INSERT INTO title VALUES (2, 4, 'The lamp, 100 %', 1795423125621);
INSERT INTO archiving VALUES (1, 5, 1, 1795423125641);
INSERT INTO note VALUES (1, 4, 'Be brief.', 1795423125632);
INSERT INTO branch VALUES (1, 1, 'main');
INSERT INTO branch VALUES (2, 2, 'main');
INSERT INTO branch VALUES (3, 2, 'branch-2');
INSERT INTO branch VALUES (4, 2, 'a third');
INSERT INTO branch VALUES (5, 2, 'empty');
INSERT INTO branch VALUES (6, 2, 'before a word');
INSERT INTO branch VALUES (7, 3, 'main');
INSERT INTO branch VALUES (8, 4, 'main');
INSERT INTO branch VALUES (9, 4, 'branch-2');
INSERT INTO branch VALUES (10, 5, 'main');
INSERT INTO move VALUES (1, 2, 3, 4, 1795297368316);
INSERT INTO move VALUES (2, 3, 3, 4, 1795297368319);
INSERT INTO move VALUES (3, 2, 3, 8, 1795297368328);
INSERT INTO move VALUES (4, 5, NULL, 8, 1795297368329);
INSERT INTO move VALUES (5, 7, 11, 13, 1795297368332);
INSERT INTO move VALUES (6, 9, 15, 17, 1795423125611);
INSERT INTO manner VALUES (1, 'ada', '["user","ada"]', 'say');
INSERT INTO manner VALUES (2, 'user', '["user","ada"]', 'say');
INSERT INTO manner VALUES (3, 'user', '["user","li-bai","shrek"]', 'whisper');
INSERT INTO manner VALUES (4, 'li-bai', '["li-bai"]', 'think');
INSERT INTO manner VALUES (5, 'user', '["user","li-bai"]', 'say');
INSERT INTO manner VALUES (6, 'ada', '["ada"]', 'think');
INSERT INTO shape VALUES (1, 8667470108823583568, '{"made_by":{"greeting":true}}');
INSERT INTO shape VALUES (2, 7523820812463550307, '{"made_by":{"model":"llamacpp:smollm2","strategy":"system","prompt":}}');
INSERT INTO shape VALUES (3, 5814026779206953165, X'5D8D310E83300C458F52C93353C75C2672131722EC38C2664028772F6142DDACE7FFFF3B413053FC1C104E10CDC410801905536BC14499E50D13986FE8345F31B0C39CE4626D53690EE175BD89F27D7C4B2DB6C48DD0B48EB06B833EC16E38D37094DA768FAE2B55BB1BBAFB1F7175E42778746226C7C236A612A685866AA87BEF3F');
INSERT INTO shape VALUES (4, 4277568278522568666, X'5D8EB10EC33008443FA51273A68EFE198BC634B10AC6326488A2FC7BEDA843D405A1BBE31D0708268AAF1DC201A289180230A3E05C6B30516679C204E60D9D961E03DBCD49BA569B4A75088F6E13A56B79E7926D8D8DD0B40C1495C5D71E666D343A700C2A237D9EE7049BE17219B9D4CDA3EB878A5D28DDFC4F7175E4BB70BB89891C33DB40CD38AF347EF8B57C01');
INSERT INTO shape VALUES (5, 4031222999761609041, '{"made_by":{"model":"llamacpp:smollm2","strategy":"system","prompt":,"seed":}}');
INSERT INTO shape VALUES (6, 3214495988262520710, '{"made_by":{"edited":}}');
INSERT INTO shape VALUES (7, 7814694631184902979, '{"made_by":{"model":"m"}}');
INSERT INTO shape VALUES (8, 2103587187098062773, '{"made_by":{"model":"llamacpp:smollm2","strategy":"system","prompt":,"note":"100% of {\"x\"}",:true}}');
INSERT INTO shape VALUES (9, 2435684009778511819, X'5D8FC16E03210C443F65234BB9ED21ED915F692AE4829345058CB0576DB4E2DF0BBB3944BD59E399E7F106093DD9AF07980D127B8A6020464CE84A319238C6F40E33885654BA771BC8439452D74AE55414CC344366A5BE7ABB5CCE27BE9DB62BFC5EA1C13C19AD2BF53891DF8DB790832CB6120AE701532E30E42A6A95BF295BD98D428EB33FE64A0E631C848F0DC20112C795F6E967E9ADA6F6D9665805EF343E09B9AC4FDE81E055FF29CA8AF15578C9584F8A21CA4039740B8DC2E36E6BED0F');
INSERT INTO shape VALUES (10, 2625505596452856366, '{"made_by":{"model":"m","seed":}}');
INSERT INTO message VALUES (1, X'4F305E9ED0BAD012', 2, NULL, 1, 1795297368304, 1, NULL, 0, NULL, 'Good evening.');
INSERT INTO message VALUES (2, X'8F69517B34C44072', 2, 1, 2, 1795297368305, NULL, NULL, 0, NULL, 'What does the engine do? 举杯邀明月');
INSERT INTO message VALUES (3, X'A2AC286AC957D7F7', 2, 2, 1, 1795297368305, 3, '"0123456789abcdef"71209129100', 0, 7, X'F32C51284F4D2C4B2D5648CC494F4D2A4ACC4C5628482C29492DCA2BD651C82A2D2E51482C5628C94855C8C9CFCF85A94DCBC92F4F2D02EAC94B51C8010BE929780E6B9300');
INSERT INTO message VALUES (4, X'5D3B00746D19AE3B', 2, 2, 1, 1795297368315, 4, '"0123456789abcdef"831209129100', 0, NULL, 'It counts.');
INSERT INTO message VALUES (5, X'8D427AD08E9DDFC8', 3, 3, 2, 1795297368322, NULL, NULL, 0, NULL, 'Café or tea?');
INSERT INTO message VALUES (6, X'33928F01839802A2', 3, 5, 1, 1795297368322, 5, '"0123456789abcdef"9', 1, NULL, 'Tea, I thi');
INSERT INTO message VALUES (7, X'671C2C523FDFF914', 3, 1, 2, 1795297368327, 6, '"8f69517b34c44072"', 0, NULL, 'What does the engine not do?');
INSERT INTO message VALUES (8, X'205F37B1354C7022', 4, 7, 1, 1795297368327, 2, '"0123456789abcdef"', 2, 1, 'Nothing but');
INSERT INTO message VALUES (9, X'E9174A6ECA8F6E6E', 3, 7, 1, 1795297368331, 7, NULL, NULL, NULL, NULL);
INSERT INTO message VALUES (10, X'B4BC978DC5B33B96', 6, 7, 1, 1795297368331, NULL, NULL, NULL, NULL, NULL);
INSERT INTO message VALUES (11, X'33750CA952A14CA6', 7, NULL, 3, 1795297368331, NULL, NULL, 0, NULL, '床前明月光');
INSERT INTO message VALUES (12, X'50111F0192AE45FC', 7, 11, 4, 1795297368331, NULL, NULL, 0, NULL, 'A word.');
INSERT INTO message VALUES (13, X'249FA46CD6262EDA', 7, NULL, 5, 1795297368332, NULL, NULL, 0, NULL, 'Another beginning.');
INSERT INTO message VALUES (14, X'F5AEC89BAFD2B522', 8, NULL, 2, 1795423125598, NULL, NULL, 0, NULL, 'Is the lamp lit? 100 %, I hope; %s.');
INSERT INTO message VALUES (15, X'5F6D978AA799BF66', 8, 14, 1, 1795423125598, 9, '"0123456789abcdef""deadbeef01"70.251.5e-05"cafe0123"0.5null12009012901100', 0, 0, X'0BC94855C849CC2D50C82C56C8C92CD15148CC4B51C82C5128CFCCC951484A05892994E4E7E61715E597EB29848CAAA6503500');
INSERT INTO message VALUES (16, X'73105A442CBE8CF5', 8, 15, 6, 1795423125610, NULL, NULL, 0, NULL, 'He asks every night: 灯亮着吗？');
INSERT INTO message VALUES (17, X'F8DE7BA043A54596', 9, 14, 1, 1795423125611, 10, 'null', 0, NULL, X'F3CFCBA95448CB2F5228C9C82F4E5528CFC857C8C9CFCFD653F01F261200');
INSERT INTO message VALUES (18, X'66937392EA561AA1', 8, 16, 1, 1795423125620, 7, NULL, NULL, NULL, NULL);
INSERT INTO message VALUES (19, X'A06CFD4C558EA0D1', 10, NULL, 2, 1795423125640, NULL, NULL, 0, NULL, 'Put away.');
INSERT INTO piece VALUES (9, 1, 'It was cut ');
INSERT INTO piece VALUES (9, 2, 'here');
INSERT INTO piece VALUES (18, 1, 'Cut');
INSERT INTO piece VALUES (18, 2, ' off
 here');
INSERT INTO draft VALUES ('16fc1bee', 'And tomo', 1795423125640);
CREATE INDEX title_by_conversation ON title (conversation);
CREATE INDEX archiving_by_conversation ON archiving (conversation);
CREATE INDEX note_by_conversation ON note (conversation);
CREATE INDEX move_by_branch ON move (branch);
CREATE INDEX shape_by_digest ON shape (digest);
CREATE INDEX message_by_branch ON message (branch);
CREATE INDEX message_by_parent ON message (parent, branch);
CREATE TRIGGER message_ends_once BEFORE UPDATE ON message WHEN old.status IS NOT NULL
BEGIN SELECT raise(ABORT, 'what was said cannot be changed'); END;
CREATE TRIGGER message_stays BEFORE DELETE ON message
BEGIN SELECT raise(ABORT, 'what was said cannot be deleted'); END;
CREATE VIRTUAL TABLE word USING fts5
    (words, content = '', tokenize = 'ascii', detail = none, columnsize = 0);
INSERT INTO word (rowid, words) VALUES (1, 'good evening');
INSERT INTO word (rowid, words) VALUES (2, 'what does the engine do 举 杯 邀 明 月');
INSERT INTO word (rowid, words) VALUES (3, 'it weaves algebraic patterns just as the loom flowers and leaves');
INSERT INTO word (rowid, words) VALUES (4, 'it counts');
INSERT INTO word (rowid, words) VALUES (5, 'cafe or tea');
INSERT INTO word (rowid, words) VALUES (6, 'tea i thi');
INSERT INTO word (rowid, words) VALUES (7, 'what does the engine not do');
INSERT INTO word (rowid, words) VALUES (8, 'nothing but');
INSERT INTO word (rowid, words) VALUES (11, '床 前 明 月 光');
INSERT INTO word (rowid, words) VALUES (12, 'a word');
INSERT INTO word (rowid, words) VALUES (13, 'another beginning');
INSERT INTO word (rowid, words) VALUES (14, 'is the lamp lit 100 i hope s');
INSERT INTO word (rowid, words) VALUES (15, 'the lamp is lit and it will be tomorrow');
INSERT INTO word (rowid, words) VALUES (16, 'he asks every night 灯 亮 着 吗');
INSERT INTO word (rowid, words) VALUES (17, 'only for those who look');
INSERT INTO word (rowid, words) VALUES (19, 'put away');
COMMIT;
PRAGMA user_version = 2;
