/**
 * Finds the sessions that agents keep on this machine: Claude Code, Codex, pi, opencode, Gemini CLI and Copilot CLI
 * in the user's home, or all transcripts in a folder. Only names, sizes and times are read; nothing is written.
 *
 * Most agents keep one file per session. opencode keeps records: JSON files in `storage`, or rows of `opencode.db`. A
 * session of such a store has the path of the store and the id of the session, and is assembled when it is read.
 */

import type { Dirent } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import type { Environment } from '../../model/defaults.ts'
import { PalimpsestError } from '../../model/errors.ts'
import { tryJson } from '../../model/json.ts'
import { type Fields, fields } from './json.ts'
import { opencodeStorage } from './opencode.ts'
import { readSessions, readTranscript, type SessionRead, type Transcript } from './read-transcript.ts'
import { SessionCollector } from './sessions.ts'
import type { Format, Problem } from './transcript.ts'

/** A transcript; `session` names a session in opencode's store, whose folder or database is `path`. */
export type FoundFile = { path: string; session?: string }

export type OwnSession = FoundFile & {
  agent: Format
  /** When it was last written to, and its size; a session of a store has the size 0. */
  at: number
  bytes: number
}

type Place = { agent: Format; folder: string; fits: (path: string) => boolean }

const LOOKS_RIGHT = /\.(?:jsonl|json|traj|ndjson)(?:\.gz)?$/i
const CHAT_HISTORY = /chat[.-]history/i
const DATABASE = 'opencode.db'
const MOST_DEPTH = 12

/** The folders in which agents keep their sessions, from the agents' own variables. */
function ownPlaces(env: Environment): Place[] {
  const home = env['HOME'] ?? env['USERPROFILE'] ?? homedir()
  const isLines = (path: string) => path.endsWith('.jsonl')
  const codex = env['CODEX_HOME'] ?? join(home, '.codex')
  const pi = env['PI_CODING_AGENT_DIR'] ?? join(home, '.pi/agent')
  // Files of subagents are in a folder that has the name of the session.
  const isChat = (path: string) => {
    const isOwn = /^session-.*\.jsonl?$/.test(basename(path)) && basename(dirname(path)) === 'chats'
    return isOwn || (path.endsWith('.jsonl') && basename(dirname(dirname(path))) === 'chats')
  }
  const config = env['XDG_CONFIG_HOME'] ?? join(home, '.config')
  const claude = env['CLAUDE_CONFIG_DIR']?.split(',') ?? [join(home, '.claude'), join(config, 'claude')]
  return [
    ...claude.map(
      (folder): Place => ({ agent: 'claude-code', folder: join(folder.trim(), 'projects'), fits: isLines }),
    ),
    { agent: 'codex', folder: join(codex, 'sessions'), fits: isLines },
    { agent: 'codex', folder: join(codex, 'archived_sessions'), fits: isLines },
    { agent: 'pi', folder: join(pi, 'sessions'), fits: isLines },
    {
      agent: 'opencode',
      folder: join(env['XDG_DATA_HOME'] ?? join(home, '.local/share'), 'opencode'),
      fits: () => false,
    },
    { agent: 'gemini-cli', folder: join(home, '.gemini/tmp'), fits: isChat },
    {
      agent: 'copilot-cli',
      folder: join(home, '.copilot/session-state'),
      fits: path => basename(path) === 'events.jsonl',
    },
  ]
}

/** The folders that are searched, for the message that nothing was found. */
export function ownFolders(env: Environment): string[] {
  return ownPlaces(env).map(({ folder }) => folder)
}

/** All sessions of the user's own agents, newest first. */
export async function findOwnSessions(env: Environment = process.env): Promise<OwnSession[]> {
  const found = new Map<string, OwnSession>()
  for (const { agent, folder, fits } of ownPlaces(env)) {
    for (const file of await filesIn(folder)) {
      const isStored = file.session !== undefined
      if (!isStored && !fits(file.path)) continue
      const { mtimeMs, size } = await stat(recordOf(file)).catch(() => ({ mtimeMs: 0, size: 0 }))
      const { at = mtimeMs, ...rest } = file
      // opencode moved its records from files into the database: a session in both is counted once.
      const key = `${agent} ${basename(file.session ?? '') || file.path}`
      found.set(key, found.get(key) ?? { agent, ...rest, at, bytes: isStored ? 0 : size })
    }
  }
  return [...found.values()].sort((a, b) => b.at - a.at)
}

/** The transcripts in a folder, by name. */
export async function filesIn(folder: string, depth = 0): Promise<(FoundFile & { at?: number })[]> {
  if (depth > MOST_DEPTH) return []
  const entries = await readdir(folder, { withFileTypes: true }).catch((): Dirent[] => [])
  const found: (FoundFile & { at?: number })[] = []
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name)
    if (entry.isDirectory() && entry.name !== 'node_modules') {
      found.push(...((await storedIn(path)) ?? (await filesIn(path, depth + 1))))
    } else if (entry.isFile() && entry.name === DATABASE) found.push(...(await rowsIn(path)))
    else if (entry.isFile() && looksRight(entry.name)) found.push({ path })
  }
  return found
}

function looksRight(name: string): boolean {
  return LOOKS_RIGHT.test(name) || (CHAT_HISTORY.test(name) && /\.md$/i.test(name))
}

/** The sessions of an opencode store, if the path is one. */
export async function storeSessions(path: string): Promise<FoundFile[] | undefined> {
  return basename(path) === DATABASE ? rowsIn(path) : storedIn(path)
}

async function storedIn(folder: string): Promise<FoundFile[] | undefined> {
  if (basename(folder) !== 'storage') return undefined
  const projects = await readdir(join(folder, 'session')).catch(() => undefined)
  if (!projects) return undefined
  const found: FoundFile[] = []
  for (const project of projects.sort()) {
    const records = await readdir(join(folder, 'session', project)).catch(() => [])
    for (const name of records.sort()) {
      const session = `${project}/${name.slice(0, -'.json'.length)}`
      if (/^ses_\w+\.json$/.test(name)) found.push({ path: folder, session })
    }
  }
  return found
}

function recordOf({ path, session }: FoundFile): string {
  return session === undefined || basename(path) === DATABASE ? path : join(path, 'session', `${session}.json`)
}

async function rowsIn(path: string): Promise<(FoundFile & { at: number })[]> {
  return withDatabase(path, database => {
    const rows = database.prepare('SELECT id, time_updated AS at FROM session ORDER BY time_created, id').all()
    return rows.map(row => ({ path, session: String(row['id']), at: Number(row['at']) }))
  }).catch(() => [])
}

async function withDatabase<T>(path: string, read: (database: DatabaseSync) => T): Promise<T> {
  const { DatabaseSync } = await import('node:sqlite')
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    return read(database)
  } finally {
    database.close()
  }
}

export async function readFoundFile({ path, session }: FoundFile): Promise<Transcript> {
  return session === undefined ? readTranscript(path) : stored(path, session)
}

/** The same, session by session. */
export async function* sessionsOfFile(
  file: FoundFile,
  report: (problem: Problem) => void,
): AsyncGenerator<SessionRead> {
  if (file.session === undefined) {
    yield* readSessions(file.path, { report })
    return
  }
  const { format, sessions, problems } = await stored(file.path, file.session)
  problems.forEach(report)
  yield* sessions.map((session, i) => ({ format, session, place: i + 1 }))
}

async function stored(path: string, session: string): Promise<Transcript> {
  const isDatabase = basename(path) === DATABASE
  const records = isDatabase ? await fromRows(path, session) : await fromFiles(path, session)
  const parser = opencodeStorage.start({ name: session })
  const collector = new SessionCollector()
  for (const record of records) for (const event of parser.take(record, 0)) collector.add(event)
  for (const event of parser.end()) collector.add(event)
  const { sessions, problems } = collector
  if (sessions.length > 0) return { format: 'opencode', sessions, problems }
  throw new PalimpsestError('FORMAT_UNKNOWN', `The session ${session} in ${path} has no messages.`, { path, session })
}

async function fromFiles(storage: string, session: string): Promise<Fields[]> {
  const id = basename(session)
  const messages = await jsonIn(join(storage, 'message', id))
  const parts = await Promise.all(messages.map(message => jsonIn(join(storage, 'part', String(message['id'])))))
  return [await jsonFrom(recordOf({ path: storage, session })), ...messages, ...parts.flat()]
}

async function jsonIn(folder: string): Promise<Fields[]> {
  const names = await readdir(folder).catch(() => [])
  return Promise.all(names.filter(name => name.endsWith('.json')).map(name => jsonFrom(join(folder, name))))
}

/** An incomplete record is skipped: opencode may be writing it. */
async function jsonFrom(path: string): Promise<Fields> {
  return fields(tryJson(await readFile(path, 'utf8').catch(() => '')))
}

function fromRows(path: string, session: string): Promise<Fields[]> {
  return withDatabase(path, database => {
    const all = (sql: string) => database.prepare(sql).all(session)
    const dataOf = (row: Record<string, unknown>) => fields(tryJson(String(row['data'])))
    const messages = all('SELECT id, data FROM message WHERE session_id = ? ORDER BY id')
    const parts = all('SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY id')
    return [
      ...all('SELECT id, parent_id, directory FROM session WHERE id = ?').map(({ id, parent_id, directory }) => {
        return { id, directory, ...(parent_id === null ? {} : { parentID: parent_id }) }
      }),
      ...messages.map(row => ({ ...dataOf(row), id: row['id'], sessionID: session })),
      ...parts.map(row => ({ ...dataOf(row), id: row['id'], messageID: row['message_id'] })),
    ]
  })
}
