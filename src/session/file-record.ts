/**
 * The changes and states of files, from the journal of file reads and writes, for the changelog and for file-at.
 *
 * The journal has priority: it has the text before and after each write, for every caller, even if the ledger has no
 * such call (MCP). Calls are used for tools that are not ours. A write that was undone is not a change.
 */
import { type Change, changesIn, type FileState, fileStateAt, type KnownWrite } from '../calls/file-history.ts'
import type { ToolTable } from '../calls/tool-kinds.ts'
import { hashContent, NO_FILE, pileWrite, type Write } from '../files/journal.ts'
import { sameFile } from '../model/paths.ts'
import type { Event, Message } from '../model/types.ts'
import type { Fold } from '../view/fold.ts'

export type FileWriteEvent = { seq: number; event: Extract<Event, { type: 'file' }> }

export type FileRecord = {
  messages: readonly Message[]
  /** Entries tell to which turn an event belongs. */
  entries: readonly Pick<Fold['entries'][number], 'role' | 'seq'>[]
  writes: readonly FileWriteEvent[]
  tools?: ToolTable
}

type JournalWrite = Write & Change & { before: string | null; after: string | null | undefined }

/** Every change that was not undone, in turn order. */
export function changesOf(record: FileRecord): Change[] {
  const written = journalWrites(record)
  const standing = [...Map.groupBy(written, ({ path }) => path).values()].flatMap(ofOne => {
    const pile: JournalWrite[] = []
    for (const write of ofOne) pileWrite(pile, write)
    return pile
  })
  const isJournaled = ({ turn, path }: Change) =>
    written.some(write => write.turn === turn && sameFile(write.path, path))
  const called = changesIn(record.messages, record.tools).filter(change => !isJournaled(change))
  const order = new Map(written.map((write, i) => [write, i]))
  const own = standing.toSorted((a, b) => order.get(a)! - order.get(b)!).map(toChange)
  return [...own, ...called].sort((a, b) => a.turn - b.turn)
}

/** What a file looked like after a turn. */
export function fileStateOf(record: FileRecord, path: string, turn: number): FileState {
  const written = journalWrites(record).filter(write => sameFile(write.path, path))
  const texts = new Map(written.flatMap(({ before, replaced }) => (before === null ? [] : [[replaced, before]])))
  const writes = written.map((write): KnownWrite => {
    const { hash, before, intent } = write
    const after = write.after ?? (hash === NO_FILE ? null : texts.get(hash))
    const how =
      after === null
        ? 'removed'
        : intent === 'undo_edit'
          ? 'an edit was undone'
          : `${write.kind === 'write' ? 'written' : 'edited'}, by the journal`
    return { turn: write.turn, before, how, fits: content => hashContent(content) === hash, after }
  })
  return fileStateAt(record.messages, path, turn, { tools: record.tools, writes })
}

function journalWrites({ entries, writes }: FileRecord): JournalWrite[] {
  let turn = 0
  let at = 0
  return writes.map(({ seq, event }) => {
    for (; at < entries.length && entries[at]!.seq < seq; at++) if (entries[at]!.role === 'assistant') turn++
    const { path, hash, before = null, after, intent } = event
    const kind = hash === NO_FILE ? 'remove' : before === null ? 'write' : 'edit'
    return { turn, path, kind, hash, before, after, replaced: hashContent(before), ...(intent ? { intent } : {}) }
  })
}

function toChange({ turn, path, kind, intent }: JournalWrite): Change {
  return { turn, path, kind, ...(intent === undefined ? {} : { intent }) }
}
