/**
 * Files of every earlier schema: created by the SQL of that version, which is recorded here, then opened, verified and
 * read. A new migration without a recorded earlier schema fails the first test of its file.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, describe, test } from 'node:test'
import { openServerStore } from '../../src/doors/server/server-store.ts'
import { contentHash } from '../../src/ledger/codec.ts'
import { SqliteFile } from '../../src/ledger/database.ts'
import { SqliteLedger } from '../../src/ledger/sqlite.ts'
import type { Row } from '../../src/ledger/store.ts'
import { Memory } from '../../src/memory/memory.ts'
import { SqliteMemory } from '../../src/memory/sqlite.ts'
import { parseJson } from '../../src/model/json.ts'
import { textOf } from '../../src/model/leaves.ts'
import { openPalimpsest } from '../../src/session/engine.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-migrations-'))
after(() => rmSync(folder, { recursive: true, force: true }))
let homes = 0
const freshHome = () => mkdtempSync(join(folder, `home-${homes++}-`))

const LEDGER_1 = `
  CREATE TABLE sessions (
    key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, parent INTEGER REFERENCES sessions(key), fork_seq INTEGER,
    created_at INTEGER NOT NULL, meta TEXT NOT NULL
  ) STRICT;
  CREATE TABLE events (
    id INTEGER PRIMARY KEY, type TEXT NOT NULL, at INTEGER NOT NULL, hash TEXT NOT NULL, light TEXT NOT NULL,
    body TEXT NOT NULL
  ) STRICT;
  CREATE TABLE contents (hash TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT, WITHOUT ROWID;`
const LEDGER_2 = `${LEDGER_1}
  CREATE TABLE docs (id INTEGER PRIMARY KEY, session INTEGER NOT NULL, seq INTEGER NOT NULL, part INTEGER NOT NULL) STRICT;
  CREATE TABLE indexed (session INTEGER PRIMARY KEY, seq INTEGER NOT NULL) STRICT;
  CREATE VIRTUAL TABLE texts USING fts5(text, content='', tokenize="unicode61 tokenchars '_'");
  INSERT INTO docs VALUES (1, 1, 0, 0);
  INSERT INTO indexed VALUES (1, 0);
  INSERT INTO texts (rowid, text) VALUES (1, 'one two three');`
const LEDGER_3 = `${LEDGER_1}
  CREATE TABLE recall_segments (id INTEGER PRIMARY KEY AUTOINCREMENT, documents INTEGER NOT NULL, runs TEXT NOT NULL, columns BLOB NOT NULL) STRICT;
  CREATE TABLE recall_postings (segment INTEGER NOT NULL, term TEXT NOT NULL, data BLOB NOT NULL, PRIMARY KEY (segment, term)) STRICT, WITHOUT ROWID;
  CREATE TABLE recall_documents (id INTEGER PRIMARY KEY, seq INTEGER NOT NULL, part INTEGER NOT NULL, start INTEGER NOT NULL, size INTEGER NOT NULL, print INTEGER NOT NULL) STRICT;
  CREATE TABLE recall_done (session INTEGER PRIMARY KEY, seq INTEGER NOT NULL, documents INTEGER NOT NULL) STRICT;`

const LEDGER_4 = `${LEDGER_3}
  CREATE TABLE tombstones (
    seq INTEGER PRIMARY KEY, session TEXT NOT NULL, key INTEGER NOT NULL, at INTEGER NOT NULL, by TEXT NOT NULL,
    events INTEGER NOT NULL, head TEXT NOT NULL, hash TEXT NOT NULL
  ) STRICT;
  CREATE TRIGGER events_need_a_session BEFORE INSERT ON events
    WHEN NOT EXISTS (SELECT 1 FROM sessions WHERE key = NEW.id >> 32)
    BEGIN SELECT RAISE(ABORT, 'the session was removed'); END;`

const LEDGER_5 = `${LEDGER_4}
  CREATE TABLE recall_words (segment INTEGER NOT NULL, block INTEGER NOT NULL, words TEXT NOT NULL, PRIMARY KEY (segment, block)) STRICT, WITHOUT ROWID;
  CREATE TABLE recall_grams (segment INTEGER NOT NULL, gram TEXT NOT NULL, blocks BLOB NOT NULL, PRIMARY KEY (segment, gram)) STRICT, WITHOUT ROWID;`

const LEDGER_6 = `${LEDGER_5}
  ALTER TABLE sessions ADD COLUMN updated_at INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX sessions_by_use ON sessions (updated_at, id);
  CREATE INDEX sessions_of_owner ON sessions (
    CASE WHEN substr(id, 1, 1) = '@' THEN substr(id, 1, instr(id, '/')) ELSE '' END, updated_at, id
  );
  CREATE TRIGGER events_are_use AFTER INSERT ON events
    BEGIN UPDATE sessions SET updated_at = NEW.at WHERE key = NEW.id >> 32; END;`
const LEDGER_7 = `${LEDGER_6} DROP TRIGGER events_are_use;`

const MEMORY_1 = `
  CREATE TABLE versions (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL, user_id TEXT NOT NULL, label TEXT NOT NULL,
    title TEXT, body TEXT, schema_ref TEXT,
    at INTEGER NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL, why TEXT NOT NULL, proposal TEXT
  ) STRICT;
  CREATE INDEX versions_of_block ON versions (user_id, label, seq);
  CREATE UNIQUE INDEX versions_by_id ON versions (user_id, label, id);
  CREATE TABLE blocks (
    user_id TEXT NOT NULL, label TEXT NOT NULL, seq INTEGER NOT NULL REFERENCES versions(seq),
    PRIMARY KEY (user_id, label)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE proposals (
    user_id TEXT NOT NULL, id TEXT NOT NULL, label TEXT NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL,
    base_version TEXT, base_title TEXT, base_body TEXT, title TEXT NOT NULL, body TEXT NOT NULL,
    agent_id TEXT NOT NULL, reasoning TEXT NOT NULL, confidence TEXT NOT NULL, entries TEXT NOT NULL,
    created_at INTEGER NOT NULL, decided_at INTEGER, decided_by TEXT, decided_why TEXT,
    before_version TEXT, after_version TEXT,
    PRIMARY KEY (user_id, id)
  ) STRICT;
  CREATE INDEX proposals_in_state ON proposals (user_id, state, id);`
const MEMORY_2 = `${MEMORY_1} ALTER TABLE proposals ADD COLUMN operation TEXT;`

const SERVER_1 = `
  CREATE TABLE tokens (
    id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, user TEXT NOT NULL, role TEXT NOT NULL, name TEXT NOT NULL,
    created_at INTEGER NOT NULL, last_used_at INTEGER, revoked_at INTEGER
  ) STRICT;
  CREATE TABLE owners (session TEXT PRIMARY KEY, user TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX owners_by_user ON owners (user);
  CREATE TABLE keys (
    scope TEXT NOT NULL, key TEXT NOT NULL, request TEXT NOT NULL, at INTEGER NOT NULL,
    status INTEGER, type TEXT, body TEXT, PRIMARY KEY (scope, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX keys_by_time ON keys (at);`
const SERVER_2 = `${SERVER_1}
  CREATE TABLE summaries (
    session TEXT PRIMARY KEY, length INTEGER NOT NULL, model TEXT NOT NULL, version INTEGER NOT NULL, summary TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;`
const SERVER_3 = `${SERVER_2}
  CREATE TABLE secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;`

type Opened = { close(): void | Promise<void> }
type Kind = { file: string; schemas: readonly string[]; open(home: string): Opened | Promise<Opened> }

const LEDGER: Kind = {
  file: 'ledger.sqlite',
  schemas: [LEDGER_1, LEDGER_2, LEDGER_3, LEDGER_4, LEDGER_5, LEDGER_6, LEDGER_7],
  open: home => new SqliteLedger(join(home, 'ledger.sqlite')),
}
const MEMORY: Kind = {
  file: 'memory.sqlite',
  schemas: [MEMORY_1, MEMORY_2],
  open: home => new SqliteMemory(join(home, 'memory.sqlite')),
}
const SERVER: Kind = { file: 'server.sqlite', schemas: [SERVER_1, SERVER_2, SERVER_3], open: openServerStore }

/** A home with rows in a file of an earlier schema. */
function oldHome({ file, schemas }: Kind, version: number, fill: (db: DatabaseSync) => void): string {
  const home = freshHome()
  const db = new DatabaseSync(join(home, file))
  db.exec('PRAGMA journal_mode = WAL')
  db.exec(schemas[version - 1]!)
  db.exec(`PRAGMA user_version = ${version}`)
  fill(db)
  db.close()
  return home
}

/** The version of a file, its tables and indexes, and SQLite's check of it. */
function stateOf(home: string, file: string) {
  const db = new DatabaseSync(join(home, file))
  const version = Number(db.prepare('PRAGMA user_version').get()!['user_version'])
  const check = db.prepare('PRAGMA integrity_check').all().map(Object.values)
  const columns = (table: unknown) => db.prepare(`SELECT name, type, pk FROM pragma_table_info(?)`).all(String(table))
  const names = db.prepare(`SELECT type, name FROM sqlite_schema ORDER BY type, name`).all()
  const tables = names.map(({ type, name }) => [type, name, columns(name).map(Object.values)])
  db.close()
  return { version, check, tables }
}

for (const kind of [LEDGER, MEMORY, SERVER]) {
  test(`${kind.file}: every earlier schema is recorded and migrates to the current one`, async () => {
    const fresh = freshHome()
    await (await kind.open(fresh)).close()
    const newest = stateOf(fresh, kind.file)
    assert.deepEqual(newest.check, [['ok']])
    assert.ok(kind.schemas.length >= newest.version - 1, `schema ${newest.version - 1} is not recorded`)
    for (let version = 1; version < newest.version; version++) {
      const home = oldHome(kind, version, () => {})
      await (await kind.open(home)).close()
      assert.deepEqual(stateOf(home, kind.file), newest, `from ${version}`)
    }
  })
}

/** Events in the format of the first versions, with a fork after the first two. */
const EVENTS: Row[] = parseJson(readFileSync(join(import.meta.dirname, '../session/untyped-targets.json'), 'utf8'))
const LARGE = 'x'.repeat(20_000)

function fillLedger(db: DatabaseSync): void {
  db.exec(`INSERT INTO sessions (key, id, parent, fork_seq, created_at, meta)
    VALUES (1, 'old', NULL, NULL, 1000, '{}'), (2, 'fork', 1, 1, 2000, '{}')`)
  const insert = db.prepare('INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)')
  for (const { seq, type, at, hash, light, body } of EVENTS) insert.run(2 ** 32 + seq, type, at, hash, light, body!)
  db.prepare('INSERT INTO contents VALUES (?, ?)').run(contentHash(LARGE), LARGE)
}

describe('a ledger', () => {
  for (const [index] of LEDGER.schemas.entries()) {
    test(`of schema ${index + 1} verifies, shows the same, can be searched and can continue`, async () => {
      const home = oldHome(LEDGER, index + 1, fillLedger)
      {
        await using pal = await openPalimpsest({ home })
        const session = await pal.session('old')
        assert.equal((await session.verify()).events, EVENTS.length)
        const { messages } = await session.view({ plan: false })
        const texts = messages.map(message => message.parts.map(textOf).join())
        assert.deepEqual(texts, ['one 2 three', LARGE, 'seven and eight', '9', 'ten'])
        assert.deepEqual(
          (await session.recall('three')).map(({ entry }) => entry),
          [0],
        )
        const fork = await pal.session('fork')
        assert.deepEqual((await fork.verify()).entries, 2)
        await fork.append({ role: 'user', parts: [{ type: 'text', text: 'a needle' }] })
        assert.equal((await fork.recall('needle')).length, 1)
      }
      await using again = await openPalimpsest({ home })
      assert.equal((await (await again.session('fork')).verify()).entries, 3)
      assert.deepEqual(stateOf(home, LEDGER.file).check, [['ok']])
    })
  }
})

describe('memory', () => {
  for (const [index] of MEMORY.schemas.entries()) {
    test(`of schema ${index + 1} has its blocks and versions, and its open proposal can be approved`, async () => {
      const home = oldHome(MEMORY, index + 1, db => {
        db.exec(`
          INSERT INTO versions VALUES (1, 'v1', 'ann', 'about', 'About', 'tea', NULL, 1, 'user:ann', 'set', '', NULL);
          INSERT INTO versions VALUES (2, 'v2', 'ann', 'about', 'About', 'black tea', NULL, 2, 'user:ann', 'set', '', NULL);
          INSERT INTO blocks VALUES ('ann', 'about', 2);
          INSERT INTO proposals (user_id, id, label, kind, state, base_version, base_title, base_body, title, body,
            agent_id, reasoning, confidence, entries, created_at)
          VALUES ('ann', 'p1', 'about', 'edit', 'open', 'v2', 'About', 'black tea', 'About', 'green tea', 'a', 'said so',
            'high', '[]', 3);`)
      })
      const store = new SqliteMemory(join(home, MEMORY.file))
      const memory = new Memory(store)
      assert.equal((await memory.block('ann', 'about'))?.body, 'black tea')
      assert.deepEqual(
        (await memory.history('ann', 'about')).map(({ id }) => id),
        ['v2', 'v1'],
      )
      await memory.approve('ann', 'p1', { by: 'user:ann' })
      assert.equal((await memory.block('ann', 'about'))?.body, 'green tea')
      await store.close()
    })
  }
})

test('the server of schema 1 keeps its tokens and owners', async () => {
  const home = oldHome(SERVER, 1, db => {
    db.exec(`
      INSERT INTO tokens VALUES ('t_1', 'hash', 'ann', 'user', 'laptop', 1, NULL, NULL);
      INSERT INTO owners VALUES ('fix-login', 'ann');`)
  })
  const store = await openServerStore(home)
  assert.deepEqual(
    (await store.tokens()).map(({ id, user }) => [id, user]),
    [['t_1', 'ann']],
  )
  assert.deepEqual(await store.formerOwners(), [{ session: 'fix-login', user: 'ann' }])
  await store.close()
})

test('a failed step leaves the file unchanged, for other processes too', () => {
  const path = join(freshHome(), 'x.sqlite')
  const first = [['first', 'CREATE TABLE a (x); INSERT INTO a VALUES (1)']] as const
  new SqliteFile(path, { migrations: first }).close()
  const broken = [...first, ['second', 'CREATE TABLE b (x); INSERT INTO none VALUES (1)']] as const
  assert.throws(() => new SqliteFile(path, { migrations: broken, busyMs: 0 }), { code: 'STORE_FAILED' })
  const good = [...first, ['second', 'CREATE TABLE b (x); INSERT INTO b SELECT x + 1 FROM a']] as const
  const file = new SqliteFile(path, { migrations: good, busyMs: 0 })
  assert.deepEqual(file.all('SELECT x FROM b').map(Object.values), [[2]])
  file.close()
})
