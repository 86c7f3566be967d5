/** The effect of one command of a shell line, and the rank that decides the kind of the whole line. */
import { patchPaths } from './patches.ts'

/** First and last line, from 1. `Infinity`: to the end. A negative start counts from the end, as `tail` does. */
export type LineRange = [start: number, end: number]

export type FileWrite = {
  path: string
  content?: string
  append?: true
  removed?: true
  /** The text does not change: only the mode or the time does, or it is a folder. */
  kept?: true
  /** The file that it is a copy of. */
  from?: string
  /** `sed -i 's/old/new/'` with literal texts. */
  substitute?: { old: string; new: string; all: boolean }
  /** The source from which git restored it. */
  restored?: 'index' | 'HEAD'
}

/** `stage`: files go into the index (`all`: every known file). `commit`: the index becomes HEAD. `unsure`: unknown. */
export type GitEffect =
  | { type: 'stage'; paths: string[] | 'all' }
  | { type: 'commit'; all: boolean }
  | { type: 'unsure'; command: string }

export function nameSet(names: string): ReadonlySet<string> {
  return new Set(names.split(' '))
}

export const NEUTRAL = 0
export const READ = 1
export const SEARCH = 2
export const WRITE = 3
export const RUN = 4

export type Step = {
  rank: number
  paths?: string[]
  query?: string | undefined
  patch?: string | undefined
  writes?: FileWrite[]
  /** Applies after the writes. */
  git?: GitEffect | undefined
  /** The lines that a read shows of a file or, in a pipeline, of its input. */
  range?: LineRange | undefined
}

/** `mv` and `cp`: which files they make, and which they remove. */
export function moving(name: string, files: string[]): Step {
  const sources = files.slice(0, -1)
  const target = files.at(-1) ?? ''
  const intoFolder = sources.length > 1 || target.endsWith('/')
  const arrived = sources.map(path => (intoFolder ? `${target}/${lastStep(path)}` : target))
  const isCopy = sources.length === 1 && (intoFolder || sameEnding(sources[0]!, target))
  const writes: FileWrite[] = [...new Set(arrived)].map(path => ({ path, ...(isCopy ? { from: sources[0]! } : {}) }))
  if (name === 'mv') for (const path of sources) writes.push({ path, removed: true })
  return { rank: WRITE, paths: writes.map(write => write.path), writes }
}

/** A target with the extension of its source is a file, not a folder for it. */
function sameEnding(source: string, target: string): boolean {
  const ending = /\.\w+$/.exec(lastStep(source))?.[0]
  return ending !== undefined && lastStep(target).endsWith(ending)
}

export function patching(patch: string | undefined): Step {
  return { rank: WRITE, patch, paths: patch === undefined ? [] : patchPaths(patch) }
}

export function lastStep(path: string): string {
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1)
}
