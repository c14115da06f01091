"""The tables in the SQL that SQLite and PostgreSQL share, with names in braces for what they spell differently.

Released text is never edited: see `schema.py`, whose migrations it belongs to.
"""

from __future__ import annotations

FIRST_TABLES = """
CREATE TABLE runs (
    number {number_key},
    id TEXT NOT NULL UNIQUE,
    suite_name TEXT NOT NULL,
    suite_path TEXT NOT NULL,
    created_at {real} NOT NULL,
    state TEXT NOT NULL,
    ended_at {real},
    verdict TEXT,
    rescored_from TEXT,
    n_planned {big} NOT NULL,
    version TEXT NOT NULL,
    target_digest TEXT NOT NULL,
    median_latency {real},
    signature TEXT NOT NULL,
    target TEXT NOT NULL,
    suite TEXT NOT NULL,
    options TEXT NOT NULL,
    suspect TEXT NOT NULL,
    summary TEXT
);
CREATE INDEX runs_by_age ON runs (created_at);

CREATE TABLE cases (
    id {key_text} NOT NULL,
    hash {key_text} NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (id, hash)
);

CREATE TABLE layouts (
    run INTEGER NOT NULL REFERENCES runs (number),
    number INTEGER NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (run, number)
){clustered};

CREATE TABLE attempts (
    run INTEGER NOT NULL REFERENCES runs (number),
    seq {big} NOT NULL,
    status INTEGER,
    latency {real} NOT NULL,
    started_at {real} NOT NULL,
    tries INTEGER NOT NULL,
    tokens_in {big},
    tokens_out {big},
    cost {real},
    model TEXT,
    cached SMALLINT NOT NULL,
    failure_kind TEXT,
    failure_message TEXT,
    PRIMARY KEY (run, seq)
){clustered};

CREATE TABLE answers (
    run INTEGER NOT NULL REFERENCES runs (number),
    seq {big} NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (run, seq)
);

CREATE TABLE samples (
    run INTEGER NOT NULL REFERENCES runs (number),
    seq {big} NOT NULL,
    case_id {key_text} NOT NULL,
    variant TEXT NOT NULL,
    repeat INTEGER NOT NULL,
    case_hash {key_text} NOT NULL,
    attempt_run INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    score {real},
    passed SMALLINT,
    band TEXT,
    category TEXT,
    difficulty TEXT,
    rung TEXT,
    layout INTEGER NOT NULL,
    scores TEXT NOT NULL,
    details TEXT,
    PRIMARY KEY (run, seq),
    CONSTRAINT samples_once UNIQUE (run, case_id, variant, repeat),
    FOREIGN KEY (case_id, case_hash) REFERENCES cases (id, hash),
    FOREIGN KEY (attempt_run, seq) REFERENCES attempts (run, seq)
){clustered};

CREATE TABLE findings (
    run INTEGER NOT NULL,
    seq {big} NOT NULL,
    position INTEGER NOT NULL,
    code TEXT NOT NULL,
    severity TEXT NOT NULL,
    place TEXT NOT NULL,
    expected TEXT,
    got TEXT,
    evidence TEXT NOT NULL,
    FOREIGN KEY (run, seq) REFERENCES samples (run, seq)
);
CREATE UNIQUE INDEX findings_in_order ON findings (run, seq, position, code);

CREATE TABLE tags (
    run INTEGER NOT NULL,
    seq {big} NOT NULL,
    position INTEGER NOT NULL,
    tag TEXT NOT NULL,
    PRIMARY KEY (run, seq, position),
    FOREIGN KEY (run, seq) REFERENCES samples (run, seq)
){clustered};

CREATE TABLE cache (
    key TEXT NOT NULL PRIMARY KEY,
    content TEXT NOT NULL,
    kept_at {real} NOT NULL
)
"""

JUDGE_TABLES = """
CREATE TABLE judge_calls (
    run INTEGER NOT NULL REFERENCES runs (number),
    seq {big} NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (run, seq)
);
CREATE TABLE judgements (
    run INTEGER NOT NULL,
    seq {big} NOT NULL,
    judge_run INTEGER,
    content TEXT NOT NULL,
    PRIMARY KEY (run, seq),
    FOREIGN KEY (run, seq) REFERENCES samples (run, seq),
    FOREIGN KEY (judge_run, seq) REFERENCES judge_calls (run, seq)
);
CREATE TABLE journal (
    run INTEGER NOT NULL REFERENCES runs (number),
    key TEXT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (run, key)
)
"""

CERTAINTIES_TABLE = """
CREATE TABLE certainties (
    run INTEGER NOT NULL,
    seq {big} NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (run, seq),
    FOREIGN KEY (run, seq) REFERENCES samples (run, seq)
)"""

EXPECTATION_TABLES = """
CREATE TABLE checks (
    run INTEGER NOT NULL,
    seq {big} NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (run, seq),
    FOREIGN KEY (run, seq) REFERENCES samples (run, seq)
);
CREATE TABLE items (
    run INTEGER NOT NULL,
    seq {big} NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (run, seq),
    FOREIGN KEY (run, seq) REFERENCES samples (run, seq)
)
"""
