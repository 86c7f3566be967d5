/** What the API answers, as far as the pages for sessions read it. The document at /openapi.json says the whole. */
import type { Edit, Message, Part, Role } from '../../src/model/types.ts'
import type {
  Dropped,
  EditPrice,
  KnobPoint,
  Moment,
  Named,
  Overview,
  PricedPart,
  Verdict,
} from '../../src/view/figures.ts'
import type { Summary } from '../../src/view/totals.ts'
import type { Step, SubAgent, Turn } from '../../src/view/turns.ts'

export type {
  Dropped,
  Edit,
  EditPrice,
  KnobPoint,
  Message,
  Moment,
  Named,
  Overview,
  Part,
  PricedPart,
  Role,
  Step,
  SubAgent,
  Summary,
  Turn,
  Verdict,
}

export type SessionInfo = {
  id: string
  policy: string
  model: string
  owner: string | null
  length: number
  createdAt: number
  updatedAt: number
  parent?: { id: string; seq: number }
  about: {
    client?: string
    project?: string
    title?: string
    parent?: string
    reason?: string
    recorded?: true
    tags?: string[]
  }
}

export type SecretPlace = { event: number; type: string; entry?: number; part?: number; kind: string; hint: string }

export type SessionRow = SessionInfo & { title: string; live: boolean; summary: Summary | null; isOld: boolean }
export type SessionList = { sessions: SessionRow[]; next: string | null }
/** A session with those that go on from it, or that it started. */
export type Family = SessionRow & {
  children: SessionRow[]
  total: { calls: number; billed: number; without: number; saved: number; updatedAt: number; known: boolean }
}
export type Families = { families: Family[]; next: string | null; found: number; sessions: number; billed: number }

export type Imported = {
  format: string
  found: number
  sessions: { session: string; messages: number; added: number; healed: string[] }[]
  problems: { line?: number; message: string }[]
}

export type Bar = {
  entry: number
  /** Null for what an edit put there, and for several parts in one bar. */
  part: number | null
  to: number
  parts: number
  role: Role
  type: string
  kind: string
  tool?: string
  label: string
  raw: number
  shown: number
  edits: string[]
  pinned: boolean
}

export type ContextMap = {
  session: string
  length: number
  at: number | null
  time: number
  calls: number
  entries: number
  window: number
  marks: number[]
  overhead: number
  cached: number
  cold: boolean
  tokens: { raw: number; shown: number }
  scale: number
  bars: Bar[]
}

export type CallSum = { tokens: number; cached: number; written: number; cost: number }

export type TimelineCall = {
  call: number
  entry: number
  at: number
  sent: CallSum
  raw: CallSum
  miss: { kind: keyof Verdict['cacheLost']; lost: number; cause: string } | null
  edits: { made: number; ids: string[]; saved: number; undone: string[] }
  decision: string | null
  model: string
  paid: { dollars: number; output: number; estimated: boolean }
  modelled: number
  inherited: boolean
  reported: { input?: number; cacheRead?: number; cacheWrite?: number; output?: number } | null
}

export type Timeline = { calls: TimelineCall[]; total: number; next: number | null; window: number; overhead: number }

export type Entry = {
  entry: number
  seq: number
  at: number
  message: Message
  /** As it is shown, where that differs; null where it is hidden. */
  shown?: Message | null
  edits: string[]
  pinned: boolean
}

export type EntryPage = { entries: Entry[]; total: number; next: number | null }

export type EditState = Edit & { active: boolean; seq: number }
export type PartEdit = EditState & { at: number; call: number; decision: string | null; shows: boolean }

export type PartDetail = {
  entry: number
  part: number
  role: Role
  at: number
  hash: string
  pinned: boolean
  inView: boolean
  original: Part
  shown: Part | null
  texts: { original: string; shown: string | null }
  tokens: { original: number; shown: number }
  instead: { edit: string; from: number; to: number; messages: Message[] } | null
  edits: PartEdit[]
}

export type Held = {
  policy: string
  from: number
  to: number
  part: number | null
  saves: number
  why: string
  reason: string | null
}

export type Pending = {
  policy: string
  decision: string | null
  now: Held[]
  later: Held[]
  saves: { now: number; later: number }
}

export type CompactPreview = {
  from: number
  to: number
  narrowed: boolean
  text: string
  request: string | null
  tokens: { replaced: number; summary: number; saved: number }
  rewritten: number
  problem: string | null
}

export type Hit = {
  session: string
  entry: number
  part: number
  role: Role
  kind: Part['type']
  tool?: string
  snippet: string
  inView: boolean
  hash: string
  at: number
  tokens: number
  copies?: number
}

/** What a policy would have done. */
export type Would = {
  policy: string
  dollars: number
  saved: number
  share: number
  evidence: number
  edits: number
  tokens: { raw: number; shown: number }
  bars: Bar[]
  list: (Edit & { call: number; dollars: number })[]
}
