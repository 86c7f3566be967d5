/** Sessions of agents are found in their home folders, and opencode's are assembled from their records. */
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { filesIn, findOwnSessions, readFoundFile } from '../../../src/formats/transcripts/find-sessions.ts'

const tokens = { input: 10, output: 2, reasoning: 1, cache: { read: 4, write: 5 } }
const session = { id: 'ses_1', parentID: 'ses_0', directory: '/shop', time: { created: 1, updated: 2 } }
const asked = { role: 'user', time: { created: 5 } }
const answered = { role: 'assistant', time: { created: 6, completed: 7 }, modelID: 'm', tokens }
const parts = [{ type: 'text', text: 'fix the login' }, { type: 'step-start' }, { type: 'text', text: 'Done.' }]

async function put(home: string, path: string, content: unknown, time = 1000): Promise<void> {
  const file = join(home, path)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content))
  await utimes(file, time, time)
}

/** The same session in both forms of opencode's store. */
async function storage(home: string, id = 'ses_1'): Promise<void> {
  const at = '.local/share/opencode/storage'
  await put(home, `${at}/session/shop/${id}.json`, { ...session, id })
  await put(home, `${at}/message/${id}/msg_1.json`, { ...asked, id: 'msg_1', sessionID: id })
  await put(home, `${at}/message/${id}/msg_2.json`, { ...answered, id: 'msg_2', sessionID: id })
  for (const [i, part] of parts.entries()) {
    const messageID = i === 0 ? 'msg_1' : 'msg_2'
    await put(home, `${at}/part/${messageID}/prt_${i}.json`, { ...part, id: `prt_${i}`, messageID, sessionID: id })
  }
}

async function database(home: string): Promise<void> {
  const folder = join(home, '.local/share/opencode')
  await mkdir(folder, { recursive: true })
  const made = new DatabaseSync(join(folder, 'opencode.db'))
  made.exec(`
    CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, time_created INTEGER, time_updated INTEGER);
    CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
    CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT)`)
  made.prepare('INSERT INTO session VALUES (?, ?, ?, ?, ?)').run('ses_1', 'ses_0', '/shop', 1, 9_000_000)
  for (const [i, message] of [asked, answered].entries())
    made.prepare('INSERT INTO message VALUES (?, ?, ?, ?)').run(`msg_${i + 1}`, 'ses_1', i, JSON.stringify(message))
  for (const [i, part] of parts.entries()) {
    const row = [`prt_${i}`, i === 0 ? 'msg_1' : 'msg_2', 'ses_1', JSON.stringify(part)]
    made.prepare('INSERT INTO part VALUES (?, ?, ?, ?)').run(...row)
  }
  made.close()
}

const newHome = () => mkdtemp(join(tmpdir(), 'palimpsest-find-'))

test('finds the sessions of each agent, newest first, and nothing else', async () => {
  const home = await newHome()
  await put(home, '.claude/projects/-shop/a.jsonl', '{}', 10)
  await put(home, '.claude/projects/-shop/notes.json', '{}')
  await put(home, '.codex/sessions/2026/01/02/rollout-1.jsonl', '{}', 40)
  await put(home, '.pi/agent/sessions/shop/b.jsonl', '{}', 30)
  await put(home, '.gemini/tmp/abc/chats/session-1.json', '{}', 20)
  await put(home, '.gemini/tmp/abc/chats/8a1f/x1.jsonl', '{}', 15)
  await put(home, '.gemini/tmp/abc/logs.json', '{}')
  await put(home, '.copilot/session-state/x/events.jsonl', '{}', 50)
  await put(home, '.local/share/opencode/auth.json', '{}')
  const found = await findOwnSessions({ HOME: home })
  assert.deepEqual(
    found.map(({ agent, at, bytes }) => [agent, at, bytes]),
    [
      ['copilot-cli', 50_000, 2],
      ['codex', 40_000, 2],
      ['pi', 30_000, 2],
      ['gemini-cli', 20_000, 2],
      ['gemini-cli', 15_000, 2],
      ['claude-code', 10_000, 2],
    ],
  )
})

test('uses the environment variables of the agents', async () => {
  const home = await newHome()
  await put(home, 'c/projects/a.jsonl', '{}')
  await put(home, 'x/sessions/b.jsonl', '{}')
  const env = { HOME: home, CLAUDE_CONFIG_DIR: join(home, 'c'), CODEX_HOME: join(home, 'x') }
  assert.equal((await findOwnSessions(env)).length, 2)
  assert.equal((await findOwnSessions({ HOME: home })).length, 0)
  await put(home, '.config/claude/projects/c.jsonl', '{}')
  assert.equal((await findOwnSessions({ HOME: home })).length, 1)
  await put(home, 'd/projects/d.jsonl', '{}')
  const two = { HOME: home, CLAUDE_CONFIG_DIR: `${join(home, 'c')},${join(home, 'd')}` }
  assert.equal((await findOwnSessions(two)).length, 2, 'several folders')
})

for (const [name, make] of Object.entries({ files: storage, database })) {
  test(`assembles a session of opencode from its ${name}`, async () => {
    const home = await newHome()
    await make(home)
    const [found, ...more] = await findOwnSessions({ HOME: home })
    assert.deepEqual([found?.agent, more.length], ['opencode', 0])
    const { format, sessions } = await readFoundFile(found!)
    assert.equal(format, 'opencode')
    const [read] = sessions
    assert.deepEqual([read!.id, read!.parent, read!.cwd, read!.reason], ['ses_1', 'ses_0', '/shop', 'sub-agent'])
    assert.deepEqual(
      read!.messages.map(({ role, parts: [part] }) => [role, part?.type === 'text' && part.text]),
      [
        ['user', 'fix the login'],
        ['assistant', 'Done.'],
      ],
    )
    assert.deepEqual(read!.usage, [
      {
        message: 1,
        usage: { input: 10, cacheRead: 4, cacheWrite: 5, output: 3, reasoning: 1, model: 'm', id: '6-7/1' },
      },
    ])
  })
}

test('a session in both stores is found once', async () => {
  const home = await newHome()
  await storage(home)
  await storage(home, 'ses_2')
  await database(home)
  const found = await findOwnSessions({ HOME: home })
  assert.deepEqual(found.map(({ session: id }) => id?.split('/').at(-1)).sort(), ['ses_1', 'ses_2'])
  assert.equal((await filesIn(home)).length, 3)
})

test('a database of another kind or version has no sessions', async () => {
  const home = await newHome()
  await put(home, '.local/share/opencode/opencode.db', 'no database')
  assert.deepEqual(await findOwnSessions({ HOME: home }), [])
})
