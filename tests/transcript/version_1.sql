-- A transcript as rolellm 0.1 wrote it (format 1), dumped by Python's sqlite3.
BEGIN TRANSACTION;
CREATE TABLE body (
    message  INTEGER PRIMARY KEY REFERENCES message (number),
    text     TEXT NOT NULL,
    status   TEXT NOT NULL CHECK (status IN ('complete', 'stopped', 'failed')),
    usage    TEXT,           -- a JSON object
    made_by  TEXT NOT NULL,  -- a JSON object: what is known of its making only at the end
    ended    TEXT NOT NULL
) STRICT;
INSERT INTO "body" VALUES(1,'Good evening.','complete',NULL,'{}','2026-11-21T21:42:48.304Z');
INSERT INTO "body" VALUES(2,'What does the engine do? 举杯邀明月','complete',NULL,'{}','2026-11-21T21:42:48.305Z');
INSERT INTO "body" VALUES(3,'It weaves algebraic patterns, just as the loom weaves flowers and leaves. It weaves algebraic patterns, just as the loom weaves flowers and leaves. It weaves algebraic patterns, just as the loom weaves flowers and leaves. It weaves algebraic patterns, just as the loom weaves flowers and leaves. ','complete','{"input_tokens":120,"output_tokens":9,"total_tokens":129,"input_token_details":{"cache_read":100}}','{"seed":7,"finish_reason":"stop"}','2026-11-21T21:42:48.312Z');
INSERT INTO "body" VALUES(4,'It counts.','complete','{"input_tokens":120,"output_tokens":9,"total_tokens":129,"input_token_details":{"cache_read":100}}','{"seed":8,"finish_reason":"length","lore":{"a":{"end":3}}}','2026-11-21T21:42:48.315Z');
INSERT INTO "body" VALUES(5,'Café or tea?','complete',NULL,'{}','2026-11-21T21:42:48.322Z');
INSERT INTO "body" VALUES(6,'Tea, I thi','stopped',NULL,'{"seed":9}','2026-11-21T21:42:48.322Z');
INSERT INTO "body" VALUES(7,'What does the engine not do?','complete',NULL,'{}','2026-11-21T21:42:48.327Z');
INSERT INTO "body" VALUES(8,'Nothing but','failed',NULL,'{}','2026-11-21T21:42:48.328Z');
INSERT INTO "body" VALUES(11,'床前明月光','complete',NULL,'{}','2026-11-21T21:42:48.331Z');
INSERT INTO "body" VALUES(12,'A word.','complete',NULL,'{}','2026-11-21T21:42:48.331Z');
INSERT INTO "body" VALUES(13,'Another beginning.','complete',NULL,'{}','2026-11-21T21:42:48.332Z');
CREATE TABLE branch (
    number        INTEGER PRIMARY KEY,
    conversation  TEXT NOT NULL REFERENCES conversation (id),
    name          TEXT NOT NULL,
    head          INTEGER REFERENCES message (number),
    moved         TEXT NOT NULL
) STRICT;
INSERT INTO "branch" VALUES(1,'3a8a7be2','main',NULL,'2026-11-21T21:42:48.303Z');
INSERT INTO "branch" VALUES(2,'349ccc03','main',NULL,'2026-11-21T21:42:48.304Z');
INSERT INTO "branch" VALUES(3,'349ccc03','main',1,'2026-11-21T21:42:48.304Z');
INSERT INTO "branch" VALUES(4,'349ccc03','main',2,'2026-11-21T21:42:48.305Z');
INSERT INTO "branch" VALUES(5,'349ccc03','main',3,'2026-11-21T21:42:48.305Z');
INSERT INTO "branch" VALUES(6,'349ccc03','main',4,'2026-11-21T21:42:48.315Z');
INSERT INTO "branch" VALUES(7,'349ccc03','main',3,'2026-11-21T21:42:48.316Z');
INSERT INTO "branch" VALUES(8,'349ccc03','branch-2',3,'2026-11-21T21:42:48.319Z');
INSERT INTO "branch" VALUES(9,'349ccc03','branch-2',5,'2026-11-21T21:42:48.322Z');
INSERT INTO "branch" VALUES(10,'349ccc03','branch-2',6,'2026-11-21T21:42:48.322Z');
INSERT INTO "branch" VALUES(11,'349ccc03','branch-2',7,'2026-11-21T21:42:48.327Z');
INSERT INTO "branch" VALUES(12,'349ccc03','a third',8,'2026-11-21T21:42:48.328Z');
INSERT INTO "branch" VALUES(13,'349ccc03','main',3,'2026-11-21T21:42:48.328Z');
INSERT INTO "branch" VALUES(14,'349ccc03','empty',NULL,'2026-11-21T21:42:48.329Z');
INSERT INTO "branch" VALUES(15,'349ccc03','branch-2',9,'2026-11-21T21:42:48.331Z');
INSERT INTO "branch" VALUES(16,'349ccc03','before a word',10,'2026-11-21T21:42:48.331Z');
INSERT INTO "branch" VALUES(17,'e22fad65','main',NULL,'2026-11-21T21:42:48.331Z');
INSERT INTO "branch" VALUES(18,'e22fad65','main',11,'2026-11-21T21:42:48.331Z');
INSERT INTO "branch" VALUES(19,'e22fad65','main',12,'2026-11-21T21:42:48.332Z');
INSERT INTO "branch" VALUES(20,'e22fad65','main',13,'2026-11-21T21:42:48.332Z');
INSERT INTO "branch" VALUES(21,'e22fad65','main',11,'2026-11-21T21:42:48.332Z');
CREATE TABLE conversation (
    id       TEXT PRIMARY KEY,
    persona  TEXT NOT NULL,
    created  TEXT NOT NULL
) STRICT;
INSERT INTO "conversation" VALUES('3a8a7be2','silent','2026-11-21T21:42:48.303Z');
INSERT INTO "conversation" VALUES('349ccc03','ada','2026-11-21T21:42:48.304Z');
INSERT INTO "conversation" VALUES('e22fad65','li-bai','2026-11-21T21:42:48.331Z');
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
INSERT INTO "message" VALUES(1,'4f305e9ed0bad012','349ccc03',NULL,'ada','["user","ada"]','say','{"greeting":true}','2026-11-21T21:42:48.304Z');
INSERT INTO "message" VALUES(2,'8f69517b34c44072','349ccc03',1,'user','["user","ada"]','say','{}','2026-11-21T21:42:48.305Z');
INSERT INTO "message" VALUES(3,'a2ac286ac957d7f7','349ccc03',2,'ada','["user","ada"]','say','{"model":"llamacpp:smollm2","strategy":"system","prompt":"0123456789abcdef"}','2026-11-21T21:42:48.305Z');
INSERT INTO "message" VALUES(4,'5d3b00746d19ae3b','349ccc03',2,'ada','["user","ada"]','say','{"model":"llamacpp:smollm2","strategy":"system","prompt":"0123456789abcdef"}','2026-11-21T21:42:48.315Z');
INSERT INTO "message" VALUES(5,'8d427ad08e9ddfc8','349ccc03',3,'user','["user","ada"]','say','{}','2026-11-21T21:42:48.322Z');
INSERT INTO "message" VALUES(6,'33928f01839802a2','349ccc03',5,'ada','["user","ada"]','say','{"model":"llamacpp:smollm2","strategy":"system","prompt":"0123456789abcdef"}','2026-11-21T21:42:48.322Z');
INSERT INTO "message" VALUES(7,'671c2c523fdff914','349ccc03',1,'user','["user","ada"]','say','{"edited":"8f69517b34c44072"}','2026-11-21T21:42:48.327Z');
INSERT INTO "message" VALUES(8,'205f37b1354c7022','349ccc03',7,'ada','["user","ada"]','say','{"model":"llamacpp:smollm2","strategy":"system","prompt":"0123456789abcdef"}','2026-11-21T21:42:48.327Z');
INSERT INTO "message" VALUES(9,'e9174a6eca8f6e6e','349ccc03',7,'ada','["user","ada"]','say','{"model":"m"}','2026-11-21T21:42:48.331Z');
INSERT INTO "message" VALUES(10,'b4bc978dc5b33b96','349ccc03',7,'ada','["user","ada"]','say','{}','2026-11-21T21:42:48.331Z');
INSERT INTO "message" VALUES(11,'33750ca952a14ca6','e22fad65',NULL,'user','["user","li-bai","shrek"]','whisper','{}','2026-11-21T21:42:48.331Z');
INSERT INTO "message" VALUES(12,'50111f0192ae45fc','e22fad65',11,'li-bai','["li-bai"]','think','{}','2026-11-21T21:42:48.331Z');
INSERT INTO "message" VALUES(13,'249fa46cd6262eda','e22fad65',NULL,'user','["user","li-bai"]','say','{}','2026-11-21T21:42:48.332Z');
CREATE TABLE piece (
    message  INTEGER NOT NULL REFERENCES message (number),
    number   INTEGER NOT NULL,
    text     TEXT NOT NULL,
    PRIMARY KEY (message, number)
) STRICT, WITHOUT ROWID;
INSERT INTO "piece" VALUES(9,1,'It was cut ');
INSERT INTO "piece" VALUES(9,2,'here');
CREATE INDEX conversation_by_persona ON conversation (persona);
CREATE INDEX message_by_conversation ON message (conversation, number);
CREATE INDEX message_by_parent ON message (parent);
CREATE INDEX branch_by_name ON branch (conversation, name, number);
COMMIT;
PRAGMA user_version = 1;
