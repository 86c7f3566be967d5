/**
 * Every number by which the presets decide. Each is marked as fitted (on recorded sessions, docs/benchmarks.md), as a
 * limit of providers, or as taste.
 */
import { PalimpsestError } from '../model/errors.ts'
import type { Model } from '../providers/models.ts'

/**
 * Fitted: expected quotes for 10,000 tokens of a new part. Classes that the agent itself wrote include a safety factor.
 */
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

export type PartClass = keyof typeof QUOTES

export type Quotes = Record<PartClass, number>

/** Fitted: the number of calls after which about half of the expected quotes are left. */
export const HALF_CALLS = 4
/**
 * Fitted: how the expected quotes fall with a part's own age, and with the calls since its file was last read or
 * changed.
 */
export const AGE_POWER = 0.2
export const SINCE_POWER = 0.47
/** Fitted: how much less a read is worth with each change to its file. */
export const CHANGED_POWER = 0.7
/** Fitted: twice the text is not quoted twice as often, except for code. Holds for parts of the usual size. */
export const SIZE_POWER = 0.3
export const USUAL_TOKENS = 500
/** Taste: smaller parts are treated as if they had this many tokens. */
export const LEAST_TOKENS = 50

/** Characters to keep: from the head, from the tail, and of the lines in between that report errors or outcomes. */
export type Keep = { head: number; tail: number; telling: number }

/** The fewest lines and characters of a block that becomes a pointer, and the lines that stay on both sides of it. */
export type SameLines = { minLines: number; minChars: number; context: number }

export type ThriftyOptions = {
  /**
   * The cost of losing a passage that will be quoted later: one call that reads this many cached tokens. Higher keeps
   * more.
   */
  quote: number
  quotes: Quotes
  /**
   * How many economic order quantities a batch must free while the cache is warm. A long session needs half of it, and
   * a low `quote` needs less.
   */
  batch: number
  /** The same at a new message of the user, where reasoning is bound to the text before it. */
  turnBatch: number
  /** The cost of losing a token of the running turn's reasoning, in output tokens. */
  thought: number
  /** The share of an unedited session's cost that edits in a warm cache may lose. */
  regret: number
  /** The limits of the expected number of calls, which is otherwise the number of calls so far. */
  horizonMin: number
  horizonMax: number
  /**
   * Characters of a run's output that are first sent whole (more with a high `quote`), and the characters kept of a
   * longer output.
   */
  runLimit: number
  runKeep: Keep
  /** The characters kept of a run's output once the model has seen it. */
  lookKeep: Keep
  sameLines: SameLines
  /** Tokens that a pointer to earlier lines must save: a quote may cross the border of the block. */
  minPointed: number
  /** Tokens that an edit must save. */
  minSave: number
  /**
   * Shares of the window. Above `may` a batch does not wait; above `must` the view is reduced to `goal`. Larger with a
   * high `quote`.
   */
  may: number
  must: number
  goal: number
  /** Above this share of the window only the last entries are kept. */
  full: number
  /** The share of the window that users' words may take in logs; smaller with a low `quote`. */
  said: number
}

export const THRIFTY: ThriftyOptions = {
  // Fitted on recorded sessions: about 97.5 % of the passages quoted later stay in view.
  quote: 130_000,
  quotes: QUOTES,
  batch: 2,
  turnBatch: 1,
  horizonMin: 10,
  horizonMax: 150,
  // Taste: a token of reasoning is worth its output price, and a session may lose 2 % to an edit that came too late.
  thought: 1,
  regret: 0.02,
  // Fitted.
  runLimit: 30_000,
  runKeep: { head: 6000, tail: 6000, telling: 6000 },
  lookKeep: { head: 500, tail: 700, telling: 600 },
  sameLines: { minLines: 16, minChars: 800, context: 4 },
  minPointed: 300,
  minSave: 40,
  // Taste: room for the answer and for errors of our count.
  may: 0.8,
  must: 0.83,
  goal: 0.55,
  full: 0.9,
  said: 0.15,
}

/** Taste: the least number of tokens that a call is assumed to add. */
export const MIN_GROWTH = 200
/** Fitted: calls after which a session is known to be a long one. */
export const SETTLED_CALLS = 300
/** Provider's limit: the results of this many calls stay, as in the provider's own default. */
export const SERVER_KEEPS = 3
/** Taste: the most waiting edits that a plan reports. */
export const MOST_PENDING = 50
/** Fitted: the share of a logged call's loss that counts, because its log line keeps the path or the command. */
export const INPUT_SHARE = 0.2

/**
 * Taste: with a high `quote` the window fills further before editing, up to these marks at `RICH` times the default.
 */
const FULLER = { may: 0.9, must: 0.93, goal: 0.75 }
const RICH = 3
/** Taste: the smallest factor for the batch size and for the room for users' words, at a low `quote`. */
const LEAST = 0.375

/**
 * The settings that follow from the knob. A low `quote` needs no large batches and keeps less of users' pasted texts. A
 * high `quote` fills the window further, and a very high one shortens less before the first sending.
 */
export function settingsAtQuote(quote: number): Partial<ThriftyOptions> {
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
/**
 * Fitted: if breaking the cache costs at most this many reads, a quote counts in full; and how its weight falls beyond
 * that.
 */
const BREAK_READS = 24
const BREAK_POWER = 0.65

/**
 * The cost of losing a quote, in cached tokens: a call that reads `quote` tokens, and writing the source again. If
 * breaking the cache costs many reads, edits are rare and lose little, so a quote counts for less. The same `quote`
 * then keeps about the same share of later quotes at every provider's prices.
 */
export function quotePrice(quote: number, { read, write }: Pick<Model, 'read' | 'write'>): number {
  const reads = (write - read) / read
  const share = reads <= BREAK_READS ? 1 : (BREAK_READS / reads) ** BREAK_POWER
  return share * (quote + (REFETCHED_TOKENS * write) / read)
}

/** Fitted: the calls of a turn that make one more call practically certain, up to a maximum. */
export const CALLS_PER_SURE = 15
export const MOST_SURE_CALLS = 3

/** Fitted: the share of an excerpt's loss that counts, because the excerpt keeps the most informative lines. */
export const LOOK_SHARE = 0.6
/** Taste: the characters that a stub keeps of the line with a run's outcome, and of the subject of a call. */
export const OUTCOME_CHARS = 100
export const ABOUT_CHARS = 60
/**
 * Fitted: the characters kept of a long string in the input of an edit, of another call, and of an input that is one
 * string.
 */
export const EDIT_INPUT_KEEP = { head: 120, tail: 60 }
export const CALL_INPUT_KEEP = { head: 400, tail: 150 }
export const TEXT_INPUT_KEEP: Keep = { head: 250, tail: 100, telling: 0 }
/** Taste: the characters that a shorter input must save. */
export const MIN_INPUT_CHARS = 100

/** Taste: the lines kept after a line that reports an error, and the characters of each. */
export const LINES_BEHIND = 2
export const TELLING_CHARS = 200
/** Taste: the approximate length of the note about a cut. A text that is hardly longer stays whole. */
export const NOTE_CHARS = 160
export const SHORT_NOTE_CHARS = 120

/**
 * Taste: shorter lines (a brace) do not identify a copy. Of a line that occurs in many places only the newest places
 * count.
 */
export const SHORTEST_LINE_CHARS = 4
export const MOST_PLACES_PER_LINE = 8

/** Fitted: the number of last steps that never become log lines, whatever they cost. */
export const KEPT_STEPS = 12
/** Taste: the approximate tokens of a log line, and the characters of one token of a command. */
export const LINE_TOKENS = 20
export const CHARS_PER_COMMAND_TOKEN = 3.5
/** Fitted: the tokens that a log must free to be worth its header. */
export const MIN_LOG_TOKENS = 4000
/** Taste: the factor by which a log frees more than is wanted, so that the next log is not needed at once. */
export const LOG_SURPLUS = 1.2
/**
 * Taste: the number of newest requests that a log keeps whole (older ones while there is room), and the share of the
 * window that users' words may take in logs when the window is full.
 */
export const WHOLE_REQUESTS = 200
export const SAID_WHEN_FULL = 0.025

/** Taste: the most lines of all logs together. Older lines are only counted. */
export const MOST_LINES = 150
/** Taste: the characters of a log line that is neither a command nor a path. */
export const LINE_CHARS = 100
/**
 * Fitted: the characters that a log line keeps of a command or a prompt, because agents reuse commands word for word.
 */
export const COMMAND_CHARS = 2000
/** Taste: paths up to this length are kept whole, because an agent that must guess the rest of a path gets it wrong. */
export const PATH_CHARS = 200
/**
 * Taste: a log lists a folder that at least this many calls name and that has at least this many characters, up to a
 * maximum number of folders.
 */
export const LEAST_CALLS_OF_FOLDER = 3
export const SHORTEST_FOLDER_CHARS = 20
export const MOST_FOLDERS = 12
/** Taste: the same for files that only dropped steps name. */
export const SHORTEST_FILE_CHARS = 12
export const MOST_FILES = 80
/** Taste: the characters kept of users' words that are shortened. */
export const SAID_KEEP = { head: 300, tail: 100 }
/** Taste: the same for texts longer than people type: pasted logs, files and diffs. */
export const PASTED_KEEP = { head: 2000, tail: 500 }
/**
 * Taste: the number of latest requests that may still be in work. Texts pasted into them stay while there is any room.
 */
export const LATEST_REQUESTS = 3
/** Taste: longer strings of an input are contents, not arguments that name folders. */
export const ARGUMENT_CHARS = 2000

/**
 * Taste: limits of the hint about free edits on a cold cache: the most expected quotes, the fewest tokens, and the most
 * parts.
 */
export const FREE_EDIT = { quotes: 0.1, tokens: 400, parts: 20 }

export type AgentOptions = {
  /** Old steps are summarised above this share of the window; this many entries stay as they are. */
  budget: number
  keep: number
  /** The share of `budget` from which the agent is warned. */
  warnFrom: number
  /** A result with more characters is moved to a file; this many of them stay in view. */
  limit: number
  preview: number
}

/**
 * Taste: the settings of the preset `agent`. The limit is far above 2,000 characters, so that results of file reads
 * stay in view.
 */
export const AGENT: AgentOptions = { budget: 0.6, keep: 20, warnFrom: 0.8, limit: 24_000, preview: 6_000 }
/** Taste: the same two limits in characters for results that are kept whole where possible. */
export const WHOLE_LIMIT = 64_000
export const WHOLE_PREVIEW = 32_000
/** Taste: the share of the window that `smart-history` fills before it summarises. */
export const HISTORY_BUDGET = 0.7

/** Taste: the cost of losing a passage, relative to the default, for each word of the knob. */
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
    `keep is ${JSON.stringify(keep)}; allowed: ${Object.keys(KEEP_LEVELS).join(', ')}, or a number above 0 and up to ${MAX_KEEP}.`,
    { keep },
  )
}
