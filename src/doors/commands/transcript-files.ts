/**
 * The transcripts on a command line: the named files, and everything in folders that looks like a transcript. A named
 * file must be readable; a file found in a folder is skipped with a note if its format is unknown. Calls that one session
 * has copied from another count once.
 */

import { stat } from 'node:fs/promises'
import type { FoundFile as OnDisk } from '../../formats/transcripts/find-sessions.ts'
import type { SessionRead, Transcript } from '../../formats/transcripts/read-transcript.ts'
import type { Problem } from '../../formats/transcripts/transcript.ts'
import { isPalimpsestError } from '../../model/errors.ts'
import { amount } from '../../model/text.ts'
import type { Calls, Copied } from '../../session/copied-calls.ts'
import { printable } from '../terminal/output.ts'

export type FoundFile = OnDisk & { named: boolean }

export async function transcriptFiles(paths: readonly string[]): Promise<FoundFile[]> {
  const { filesIn, storeSessions } = await import('../../formats/transcripts/find-sessions.ts')
  const found: FoundFile[] = []
  for (const path of paths) {
    const kind = await stat(path).catch(() => undefined)
    const inside = (await storeSessions(path)) ?? (kind?.isDirectory() ? await filesIn(path) : undefined)
    if (inside) found.push(...inside.map(file => ({ ...file, named: false })))
    else found.push({ path, named: true })
  }
  return found
}

/** The transcript; `undefined` if a file that was only found is not a transcript. Notes say what was wrong with it. */
export async function readFound(file: FoundFile, notes: string[]): Promise<Transcript | undefined> {
  const { readFoundFile } = await import('../../formats/transcripts/find-sessions.ts')
  const { path, named } = file
  try {
    const transcript = await readFoundFile(file)
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

/** Like `readFound`, but session by session, for files that do not fit in memory. */
export async function* sessionsFound(file: FoundFile, notes: string[]): AsyncGenerator<SessionRead> {
  const { sessionsOfFile } = await import('../../formats/transcripts/find-sessions.ts')
  const { path, named } = file
  const problems = noting(path, notes)
  try {
    yield* sessionsOfFile(file, problems.add)
    problems.end()
  } catch (error) {
    if (named) throw error
    notes.push(...passedOver(path, error))
  }
}

/** For each session of each file, the calls that it copied from another session. Reads all files. */
export async function copiesIn(
  files: readonly FoundFile[],
  limit = Number.POSITIVE_INFINITY,
): Promise<Map<FoundFile, (Copied | undefined)[]>> {
  const { callsOfRecording, copiesAmong } = await import('../../session/copied-calls.ts')
  const read: { file: FoundFile; calls: Calls }[] = []
  for (const file of files) {
    if (read.length >= limit) break
    const { sessions = [] } = (await readFound(file, [])) ?? {}
    read.push(...sessions.map(session => ({ file, calls: callsOfRecording(session) })))
  }
  const copies = copiesAmong(read.map(({ calls }) => calls))
  const byFile = Map.groupBy(read.keys(), i => read[i]!.file)
  return new Map([...byFile].map(([file, places]) => [file, places.map(i => copies[i])]))
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
      if (more > 0) notes.push(`${printable(path)}: ${amount(more, 'more problem')} of this kind`)
    },
  }
}

function passedOver(path: string, error: unknown): string[] {
  if (!isPalimpsestError(error)) throw error
  return error.code === 'FORMAT_UNKNOWN' ? [] : [`${printable(path)} was skipped: ${printable(error.message)}`]
}
