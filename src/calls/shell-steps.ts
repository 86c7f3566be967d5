/** What one command of a shell line does, and by which the whole line is ranked. */

/** First and last line, from 1. `Infinity`: to the end. A negative start counts from the end, as `tail` does. */
export type LineRange = [start: number, end: number]

export type FileWrite = {
  path: string
  content?: string
  append?: true
  removed?: true
  /** The file that it is a copy of. */
  from?: string
  /** `sed -i 's/old/new/'` with literal texts. */
  substitute?: { old: string; new: string; all: boolean }
  /** Where git brought it back from. */
  restored?: 'index' | 'HEAD'
}

/** What a git command did besides: it took files into the index (also `all` that it knows), or the index into HEAD. */
export type GitEffect =
  | { type: 'stage'; paths: string[] | 'all' }
  | { type: 'commit'; all: boolean }
  | { type: 'unsure'; command: string }

/** The names in a text. */
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
  /** Comes after the writes. */
  git?: GitEffect | undefined
  /** The lines that a read shows, of a file or (in a pipeline) of what comes in. */
  range?: LineRange | undefined
}
