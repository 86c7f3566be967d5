/**
 * Every number by which `thrifty` decides, each marked as fitted (on recorded sessions, docs/benchmarks.md), as a limit of
 * providers, or as taste.
 */
import { PalimpsestError } from '../model/errors.ts'
import type { Model } from '../providers/models.ts'

/** Fitted: quotes to be expected for 10,000 tokens of a new part. What the agent itself wrote has a safety factor. */
export const QUOTES = {
  code: 60,
  grep: 50,
  list: 40,
  doc: 22,
  run: 6,
  edit: 250,
  input: 400,
  old: 20,
  command: 400,
}

/** What a part is likely to be needed for. */
export type PartClass = keyof typeof QUOTES

export type Quotes = Record<PartClass, number>

/** Fitted: after so many calls about half of the quotes to be expected is left. */
export const HALF_CALLS = 4
/** Fitted: how the rest falls with a part's own age, and with the calls since its file was last read or changed. */
export const AGE_POWER = 0.2
export const SINCE_POWER = 0.47
/** Fitted: what was read of a file says less with each change of it. */
export const CHANGED_POWER = 0.7
/** Fitted: twice the text is not quoted twice as often, but where it is code: that holds for parts of the usual size. */
export const SIZE_POWER = 0.3
export const USUAL_TOKENS = 500
/** Taste: smaller parts are treated as if they had so many tokens. */
export const LEAST_TOKENS = 50

/** Characters to keep: from the head, from the tail, and of the telling lines between. */
export type Keep = { head: number; tail: number; telling: number }

/** Lines, and characters, that a block must have to be pointed at, and lines that stay on both sides of it. */
export type SameLines = { minLines: number; minChars: number; context: number }

export type ThriftyOptions = {
  /** What losing a passage that will be quoted later costs: a call on so many cached tokens. Higher keeps more. */
  quote: number
  quotes: Quotes
  /** How many economic order quantities a batch must free while the cache is warm; half in a long session, fewer for a low `quote`. */
  batch: number
  /** The same at a new message of the user, where reasoning is bound to the text before it. */
  turnBatch: number
  /** What a token of reasoning costs that is lost in the running turn, in tokens of output. */
  thought: number
  /** The share of an unedited session's cost that edits in a warm cache may come to lose. */
  regret: number
  /** Calls to come: as many as there have been, within these. */
  horizonMin: number
  horizonMax: number
  /** Characters of a run's output that are sent at first (more with a high `quote`), and what is kept of a longer one. */
  runLimit: number
  runKeep: Keep
  /** What is kept of a run's output once it was seen. */
  lookKeep: Keep
  sameLines: SameLines
  /** Tokens that pointing to lines above must save: a quote may cross the border of what is pointed at. */
  minPointed: number
  /** Tokens that an edit must save, and that an input must have to be shortened. */
  minSave: number
  minInput: number
  /** Shares of the window: past `may` a batch does not wait, past `must` we go down to `goal`; more with a high `quote`. */
  may: number
  must: number
  goal: number
  /** Past this share only the last entries are kept. */
  full: number
  /** Share of the window that users' words may take in folds; less with a low `quote`. */
  said: number
}

export const THRIFTY: ThriftyOptions = {
  // Fitted on recorded sessions: about 97.5 % of what is quoted later stays in view.
  quote: 130_000,
  quotes: QUOTES,
  batch: 2,
  turnBatch: 1,
  horizonMin: 10,
  horizonMax: 150,
  // Taste: a token of reasoning is worth what it cost to write, and a session may lose 2 % to an edit that came too late.
  thought: 1,
  regret: 0.02,
  // Fitted.
  runLimit: 30_000,
  runKeep: { head: 6000, tail: 6000, telling: 6000 },
  lookKeep: { head: 500, tail: 700, telling: 600 },
  sameLines: { minLines: 16, minChars: 800, context: 4 },
  minPointed: 300,
  minSave: 40,
  minInput: 100,
  // Taste: room for the answer and for errors of our count.
  may: 0.8,
  must: 0.83,
  goal: 0.55,
  full: 0.9,
  said: 0.15,
}

/** Taste: tokens that come in with a call, at least. */
export const MIN_GROWTH = 200
/** Fitted: calls after which a session is known to be a long one. */
export const SETTLED_CALLS = 300
/** Of the provider: results of so many calls stay, as with its own default. */
export const SERVER_KEEPS = 3
/** Taste: how many waiting edits are told. */
export const MOST_PENDING = 50
/** Fitted: of what a folded call would lose, so much counts, because its line in the log keeps the path or the command. */
export const INPUT_SHARE = 0.2

/** Taste: with a high `quote` the window fills further before editing, up to these marks at `RICH` times the default. */
const FULLER = { may: 0.9, must: 0.93, goal: 0.75 }
const RICH = 3
/** Taste: of a batch, and of the room for users' words, at the low end. */
const LEAST = 0.375

/**
 * What else follows from the knob. A low `quote` needs no large batches and keeps less of what users pasted; a high one
 * fills the window more; a very high one lets more pass before it is first sent.
 */
export function settingsFor(quote: number): Partial<ThriftyOptions> {
  const share = quote / THRIFTY.quote
  const full = Math.min(1, Math.max(0, (share - 1) / (RICH - 1)))
  const between = (mark: 'may' | 'must' | 'goal') => THRIFTY[mark] + full * (FULLER[mark] - THRIFTY[mark])
  const richer = Math.max(1, share / RICH)
  const poorer = Math.min(1, Math.max(LEAST, Math.sqrt(share)))
  return {
    batch: THRIFTY.batch * poorer,
    said: THRIFTY.said * poorer,
    may: between('may'),
    must: between('must'),
    goal: between('goal'),
    runLimit: THRIFTY.runLimit * richer,
    minPointed: THRIFTY.minPointed * richer,
  }
}

/** Fitted: tokens that are written again to fetch a lost source. */
const REFETCHED_TOKENS = 1000
/** Fitted: up to so many reads for breaking the cache a quote counts in full; and how it falls beyond. */
const BREAK_READS = 24
const BREAK_POWER = 0.65

/**
 * What losing a quote costs, in cached tokens: a call on `quote` of them, and writing its source again. Where breaking
 * the cache costs many reads, edits are rare and lose little, so a quote counts for less: the same `quote` then keeps
 * about the same share of what is quoted later, whatever the provider charges.
 */
export function quotePrice(quote: number, { read, write }: Pick<Model, 'read' | 'write'>): number {
  const reads = (write - read) / read
  const share = reads <= BREAK_READS ? 1 : (BREAK_READS / reads) ** BREAK_POWER
  return share * (quote + (REFETCHED_TOKENS * write) / read)
}

/** Fitted: for so many calls of a turn, one more is as good as sure to come, up to a few. */
export const CALLS_PER_SURE = 15
export const MOST_SURE_CALLS = 3

/** Fitted: of what an excerpt of a run's output loses, so much counts, because it keeps the lines that tell most. */
export const LOOK_SHARE = 0.6
/** Taste: characters that a stub keeps of the line that tells how a run went, and of what a call was about. */
export const OUTCOME_CHARS = 100
export const ABOUT_CHARS = 60
/** Fitted: what is kept of a long string in the input of an edit, of another call, and of an input that is one string. */
export const EDIT_INPUT_KEEP = { head: 120, tail: 60 }
export const CALL_INPUT_KEEP = { head: 400, tail: 150 }
export const TEXT_INPUT_KEEP: Keep = { head: 250, tail: 100, telling: 0 }
/** Taste: characters that a shorter input must save. */
export const MIN_INPUT_CHARS = 100

/** Taste: lines that are kept behind one that tells of an error, and characters of each. */
export const LINES_BEHIND = 2
export const TELLING_CHARS = 200
/** Taste: what the note about a cut takes, about: a text that is hardly longer is left whole. */
export const NOTE_CHARS = 160
export const SHORT_NOTE_CHARS = 120

/** Taste: shorter lines (a brace) are no sign of a copy; and of a line that is everywhere only the newest places count. */
export const SHORTEST_LINE_CHARS = 4
export const MOST_PLACES_PER_LINE = 8

/** Fitted: the last steps do not become lines of the log, whatever they cost. */
export const KEPT_STEPS = 12
/** Taste: tokens that a line of the log takes, about, and characters for a token of a command. */
export const LINE_TOKENS = 20
export const CHARS_PER_COMMAND_TOKEN = 3.5
/** Fitted: tokens that a log must free to be worth its header. */
export const MIN_LOG_TOKENS = 4000
/** Taste: log so much more than is wanted, so that it is not needed again at once. */
export const LOG_SURPLUS = 1.2
/** Taste: so many of the newest requests are whole in a log, and older ones while there is room; less in a full window. */
export const WHOLE_REQUESTS = 200
export const SAID_WHEN_FULL = 0.025

/** Taste: lines of all logs together; older ones are counted, not kept. */
export const MOST_LINES = 150
/** Taste: characters of a line that is neither a command nor a path. */
export const LINE_CHARS = 100
/** Fitted: commands are used again word for word, so a line keeps so many characters of one, or of a prompt. */
export const COMMAND_CHARS = 2000
/** Taste: paths are kept whole up to here: an agent that must guess the rest of one gets it wrong. */
export const PATH_CHARS = 200
/** Taste: a folder has a place in the log if so many calls name it and it has so many characters; and so many have one. */
export const LEAST_CALLS_OF_FOLDER = 3
export const SHORTEST_FOLDER_CHARS = 20
export const MOST_FOLDERS = 12
/** Taste: the same for files that only older steps name. */
export const SHORTEST_FILE_CHARS = 12
export const MOST_FILES = 80
/** Taste: what stays of users' words that are shortened. */
export const SAID_KEEP = { head: 300, tail: 100 }
/** Taste: and of what is longer than people type: logs, files and diffs that somebody pasted. */
export const PASTED_KEEP = { head: 2000, tail: 500 }
/** Taste: requests that may still be worked on: what was pasted into them stays while there is room at all. */
export const LATEST_REQUESTS = 3
/** Taste: longer strings of an input are contents, not arguments that name folders. */
export const ARGUMENT_CHARS = 2000

/** Taste: what a person is told could go on a cold cache: expected quotes below this, tokens from this on, and how many. */
export const FREE_EDIT = { quotes: 0.1, tokens: 400, parts: 20 }

/** Taste: what losing a passage costs, relative to the default, by the words of the knob. */
export const KEEP_LEVELS = { least: 0.1, less: 0.4, normal: 1, more: 3, most: 10 } as const

export type KeepLevel = keyof typeof KEEP_LEVELS

/** Taste: a larger number is a mistake. */
export const MAX_KEEP = 1000

/** The knob as a number: 1 is normal, 2 keeps more, 0.5 less. */
export function keepFactor(keep: KeepLevel | number): number {
  const factor = typeof keep === 'number' ? keep : KEEP_LEVELS[keep]
  if (factor > 0 && factor <= MAX_KEEP) return factor
  throw new PalimpsestError(
    'CONFIG_INVALID',
    `keep is ${JSON.stringify(keep)}; allowed: ${Object.keys(KEEP_LEVELS).join(', ')}, or a number over 0 and up to ${MAX_KEEP}.`,
    { keep },
  )
}
