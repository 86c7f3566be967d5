/**
 * The transcripts that a command line names: files, and everything in folders that looks like one. A file that was
 * named must be readable; one that was merely found in a folder is passed over with a note if it is of no known form.
 */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Problem, SessionRead, Transcript } from '../../formats/transcripts/read-transcript.ts'
import { isPalimpsestError } from '../../model/errors.ts'
import { printable } from '../terminal/output.ts'

export type FoundFile = { path: string; named: boolean }

const LOOKS_RIGHT = /\.(?:jsonl|json|traj|ndjson)$/i
const CHAT_HISTORY = /chat[.-]history/i
const MOST_DEPTH = 12

export async function transcriptFiles(paths: readonly string[]): Promise<FoundFile[]> {
  const found: FoundFile[] = []
  for (const path of paths) {
    const kind = await stat(path).catch(() => undefined)
    if (kind?.isDirectory()) found.push(...(await filesIn(path, 0)).map(inner => ({ path: inner, named: false })))
    else found.push({ path, named: true })
  }
  return found
}

async function filesIn(folder: string, depth: number): Promise<string[]> {
  if (depth > MOST_DEPTH) return []
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  const found: string[] = []
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name)
    if (entry.isDirectory() && entry.name !== 'node_modules') found.push(...(await filesIn(path, depth + 1)))
    else if (entry.isFile() && looksRight(entry.name)) found.push(path)
  }
  return found
}

function looksRight(name: string): boolean {
  return LOOKS_RIGHT.test(name) || (CHAT_HISTORY.test(name) && /\.md$/i.test(name))
}

/** The transcript, or nothing where a file that nobody named is none; notes say what was wrong with it. */
export async function readFound({ path, named }: FoundFile, notes: string[]): Promise<Transcript | undefined> {
  const { readTranscript } = await import('../../formats/transcripts/read-transcript.ts')
  try {
    const transcript = await readTranscript(path)
    const problems = noting(path, notes)
    transcript.problems.forEach(problems.add)
    problems.end()
    return transcript
  } catch (error) {
    if (named) throw error
    notes.push(...passedOver(path, error))
    return undefined
  }
}

/** The same, session by session, for files that are not held whole. */
export async function* sessionsFound({ path, named }: FoundFile, notes: string[]): AsyncGenerator<SessionRead> {
  const { readSessions } = await import('../../formats/transcripts/read-transcript.ts')
  const problems = noting(path, notes)
  try {
    yield* readSessions(path, { report: problems.add })
    problems.end()
  } catch (error) {
    if (named) throw error
    notes.push(...passedOver(path, error))
  }
}

const MOST_PROBLEMS = 5

function noting(path: string, notes: string[]): { add(problem: Problem): void; end(): void } {
  let found = 0
  return {
    add({ line, message }) {
      if (++found > MOST_PROBLEMS) return
      notes.push(`${printable(path)}${line === undefined ? '' : `, line ${line}`}: ${printable(message)}`)
    },
    end() {
      const more = found - MOST_PROBLEMS
      if (more > 0) notes.push(`${printable(path)}: ${more} more problems of this kind`)
    },
  }
}

function passedOver(path: string, error: unknown): string[] {
  if (!isPalimpsestError(error)) throw error
  return error.code === 'FORMAT_UNKNOWN' ? [] : [`${printable(path)} is passed over: ${printable(error.message)}`]
}
