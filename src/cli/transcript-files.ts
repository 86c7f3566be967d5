/**
 * The transcripts that a command line names: files, and everything in folders that looks like one. A file that was
 * named must be readable; one that was merely found in a folder is passed over with a note if it is of no known form.
 */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isPalimpsestError } from '../errors.ts'
import type { Transcript } from '../read-transcript.ts'
import { printable } from './output.ts'

export type FoundFile = { path: string; named: boolean }

const LOOKS_RIGHT = /\.(?:jsonl|json|traj|ndjson)$|chat[.-]history.*\.md$/i
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
    else if (entry.isFile() && LOOKS_RIGHT.test(entry.name)) found.push(path)
  }
  return found
}

/** The transcript, or nothing where a file that nobody named is none; notes say what was wrong with it. */
export async function readFound({ path, named }: FoundFile, notes: string[]): Promise<Transcript | undefined> {
  const { readTranscript } = await import('../read-transcript.ts')
  try {
    const transcript = await readTranscript(path)
    for (const { line, message } of transcript.problems.slice(0, 5)) {
      notes.push(`${printable(path)}${line === undefined ? '' : `, line ${line}`}: ${printable(message)}`)
    }
    const more = transcript.problems.length - 5
    if (more > 0) notes.push(`${printable(path)}: ${more} more problems of this kind`)
    return transcript
  } catch (error) {
    if (named || !isPalimpsestError(error)) throw error
    if (error.code !== 'FORMAT_UNKNOWN') notes.push(`${printable(path)} is passed over: ${printable(error.message)}`)
    return undefined
  }
}
