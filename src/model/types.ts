/**
 * The data model: plain objects with a literal `type`, and nothing that knows of storage.
 *
 * An entry is one message as it happened. The ledger is a list of events. The view is what the model is
 * shown: a pure fold of the ledger. An edit is the only way in which the two may differ.
 */

export type Role = 'system' | 'user' | 'assistant' | 'tool'

/** A message format of a provider or SDK. */
export type Dialect = 'anthropic' | 'openai-chat' | 'openai-responses' | 'gemini' | 'ai-sdk' | 'langchain'

/**
 * The part of a provider's block that the neutral form cannot express: kept so that an unchanged part is sent exactly
 * as it came. Present only if rebuilding the block from the neutral part would give other bytes.
 */
export type Original = { dialect: Dialect; value: unknown }

export type Message = {
  role: Role
  parts: Part[]
  /** When it happened, in milliseconds since 1970. */
  at?: number
  /** The provider's message around the parts, if it cannot be rebuilt from them. */
  original?: Original
}

export type Part = TextPart | ReasoningPart | ToolCallPart | ToolResultPart | ImagePart | RawPart

/** In a view, `edit` names the edit that produced this part. */
type Shared = { original?: Original; edit?: string }

export type TextPart = { type: 'text'; text: string } & Shared
export type ReasoningPart = { type: 'reasoning'; text: string } & Shared
export type ToolCallPart = { type: 'tool-call'; id: string; name: string; input: unknown } & Shared
export type ToolResultPart = {
  type: 'tool-result'
  id: string
  name: string
  output: string | Part[]
  isError?: boolean
} & Shared
export type ImagePart = { type: 'image'; mediaType: string; data?: string; url?: string } & Shared
/** Opaque: kept and sent back unchanged, never edited on its own. */
export type RawPart = { type: 'raw'; provider: string; value: unknown } & Shared

/**
 * Where an edit applies, always in terms of originals. Entries are numbered from 0 in the order in which they
 * were appended. A part is an index into the entry's parts; a leaf is one of the part's texts (see leaves.ts);
 * a span is a pair of character offsets into that leaf. `after` is the empty place after an entry.
 */
export type Target = EntryTarget | PartTarget | RangeTarget | AfterTarget
export type EntryTarget = { type: 'entry'; entry: number }
export type PartTarget = {
  type: 'part'
  entry: number
  part: number
  leaf?: number
  span?: [start: number, end: number]
}
export type RangeTarget = { type: 'range'; from: number; to: number }
type AfterTarget = { type: 'after'; entry: number }

/**
 * The replacement. A text replaces the text of a part, a leaf or a span; messages replace whole entries, or are
 * inserted; `input` replaces the arguments of a tool call; `null` drops a part (reasoning or an image).
 */
export type Replacement = string | null | { messages: Message[] } | { input: unknown }

/**
 * The author of an edit: a policy by name, the agent, the user, or the engine itself (for repairs that legality
 * needs).
 */
export type Author = `policy:${string}` | 'agent' | 'user' | 'engine'

export type Edit = {
  id: string
  target: Target
  replacement: Replacement
  by: Author
  why: string
  /** The tokens that the edit saved in the view when it was made. */
  saved: number
  /** A policy's own name for the form that it gave the part. */
  mark?: string
}

/** Provider-reported numbers of one call. Each input token is counted once: as input, as a read or as a write. */
export type Usage = {
  input?: number
  cacheRead?: number
  /** Tokens written to the cache; `cacheWriteLong` of them for the longer lifetime (one hour, twelve hours). */
  cacheWrite?: number
  cacheWriteLong?: number
  output?: number
  /** Searches of the web that the provider made for the answer; they are billed one by one. */
  searches?: number
  /** Tokens of the output that were reasoning. */
  reasoning?: number
  model?: string
  /** The provider's id of the answer, or what else a call keeps that an agent copies into another session. */
  id?: string
  /** The service tier, speed and region that were billed, with spaces between them, where they are not the default. */
  tier?: string
  /** What else the provider sampled for the answer and billed: earlier steps, a compaction, an advisor with its own model. */
  beside?: Omit<Usage, 'beside'>[]
  /** The client wrote the answer itself ("You have hit your limit"): the provider was not asked, so it is no call. */
  by?: 'client'
}

/** Why a cached prefix was not read again, and how many of its tokens. */
export type CacheMiss = { cause: 'edit' | 'pause' | 'client' | 'model' | 'server' | 'provider'; tokens: number }

/** An edit of the history that the provider made by itself, by its name there. */
export type ServerEdit = {
  type: string
  tokens?: number
  toolUses?: number
  thinkingTurns?: number
  summary?: string
}

/** Further facts about a call: the cause of a cache miss, and the edits and omissions by the provider. */
export type Told = { miss?: CacheMiss; server?: ServerEdit[]; dropped?: number }

/** A read or write by our own file tools. */
export type FileEvent = {
  action: 'read' | 'write'
  /** Relative to the root, symbolic links resolved, `/` between folders. */
  path: string
  /** SHA-256 of the bytes that were read or written; `NO_FILE` when the write was a removal. */
  hash: string
  /** The content that a write replaced; null when there was no file. */
  before?: string | null
  /** The text after a write; null if it removed the file. Ledgers of earlier versions do not have it. */
  after?: string | null
  intent?: string
}

/**
 * `usage`: `shown` is our own count of the messages that the numbers are about.
 * `file`: a read or a write by our own file tools.
 * `redact`: texts were redacted from event `from` on, and the chain recomputed; before that the session had so many
 * `events` and ended with the hash `head`. The rest is explained in ledger/redaction.ts.
 */
export type Event =
  | { type: 'entry'; message: Message }
  | { type: 'edit'; edits: Edit[]; decision?: string }
  | { type: 'revert'; edits: string[]; by: Author; why?: string }
  | { type: 'reapply'; edits: string[]; by: Author; why?: string }
  | { type: 'pin'; entry: number; part?: number; on: boolean; by: Author }
  | { type: 'decision'; text: string }
  /** `edited`: the session was edited after the view of this call was made, so the call did not include that edit. */
  | ({ type: 'usage'; usage: Usage; shown?: number; edited?: true } & Told)
  | ({ type: 'file' } & FileEvent)
  | {
      type: 'redact'
      by: string
      kinds: Record<string, number>
      from: number
      events: number
      head: string
      salt: string
      texts: { length: number; hash: string; places: { kind: string; start: number; end: number }[] }[]
      link: string
    }

/** A kind of tool, by what it does rather than by its name; see tool-kinds.ts. */
export type ToolKind =
  | 'read'
  | 'write'
  | 'edit'
  | 'shell'
  | 'shell-read'
  | 'shell-search'
  | 'shell-write'
  | 'list'
  | 'search'
  | 'fetch'
  | 'todo'
  | 'agent'
  | 'memory'
  | 'other'
