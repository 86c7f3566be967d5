/**
 * Changes that no test can notice, because what the program does stays the same: a cache that is asked less often, a
 * shorter way to the same value. `npm run mutate` prints each with its reason and does not count it. A row names the
 * line as it is in the file; when the line changes, the row is an error until it is looked at again. A line that a better
 * test could hold does not belong here.
 */
import type { Mutation } from './mutations.ts'

type Row = {
  file: string
  /** The whole line of the change, without the blanks around it. */
  line: string
  /** Only for these changes of the line, where others of it can be noticed. */
  texts?: readonly string[]
  why: string
}

const ROWS: readonly Row[] = [
  {
    file: 'src/model/byte-pairs.ts',
    line: 'if (length < 2 || this.#rankOf(0, length) !== NONE) return length && 1',
    texts: ['false'],
    why: 'the bytes of every token of the table merge to that token; it only takes longer',
  },
  {
    file: 'src/model/byte-pairs.ts',
    line: 'for (let i = from; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193)',
    why: 'tokens are found under a worse hash too; it only takes longer',
  },
  {
    file: 'src/model/pieces.ts',
    line: 'if (lines > 0) return lines',
    texts: ['true'],
    why: 'where no end is found the published pattern finds it; it only takes longer',
  },
  {
    file: 'src/model/text.ts',
    line: 'while (end > 0 && chars.includes(text[end - 1]!)) end--',
    texts: ['>='],
    why: 'there is no sign in front of the first one',
  },
  {
    file: 'src/planner/tuning.ts',
    line: 'const share = reads <= BREAK_READS ? 1 : (BREAK_READS / reads) ** BREAK_POWER',
    texts: ['<'],
    why: 'at the bound both sides are 1',
  },
  {
    file: 'src/files/lock.ts',
    line: 'for (let wait = 1; ; wait = Math.min(wait * 2, 32)) {',
    texts: ['/', 'max'],
    why: 'whoever waits gets the lock all the same; only the pauses between two attempts differ',
  },
  {
    file: 'src/files/glob.ts',
    line: 'for (let i = 0; i < signs.length; i++) {',
    texts: ['<='],
    why: 'the range behind the last one is of nothing to nothing, in which no sign is',
  },
  {
    file: 'src/view/slots.ts',
    line: 'if (insert.length < 10_000) {',
    texts: ['<='],
    why: 'both ways give the same list; which one is taken at the bound shows nowhere',
  },
  {
    file: 'src/ledger/sqlite-index.ts',
    line: 'return [...lists].sort(([a], [b]) => (a < b ? -1 : 1))',
    texts: ['<='],
    why: 'no two lists have one name',
  },
  {
    file: 'src/view/slots.ts',
    line: 'while (inner.offsetsUpTo < slot) {',
    texts: ['<='],
    why: 'the place of one slot more is known earlier, and is the same',
  },
  {
    file: 'src/ledger/database.ts',
    line: 'if (!statement) this.#statements.set(sql, (statement = this.#db.prepare(sql)))',
    texts: ['true'],
    why: 'a statement that is prepared again is the same statement; it only takes longer',
  },
  {
    file: 'src/ledger/ledger.ts',
    line: 'if (hashes.length === 0) return new Map()',
    texts: ['false'],
    why: 'a store that is asked for nothing gives nothing; it only takes longer',
  },
  {
    file: 'src/ledger/copying.ts',
    line: 'return { ...row, body, ...(own.length > 0 ? { contents: new Map(own) } : {}) }',
    texts: ['>=', 'true'],
    why: 'a row that comes with no texts adds none; it only takes longer',
  },
  {
    file: 'src/ledger/filling.ts',
    line: 'const contents = hashes.length > 0 ? yield* ask(tables.contents(hashes)) : new Map<string, string>()',
    texts: ['>=', 'true'],
    why: 'a store that is asked for nothing gives nothing; it only takes longer',
  },
  {
    file: 'src/ledger/restore.ts',
    line: 'for (let from = there.length; from < rows.length; from += EVENTS_PER_BATCH) {',
    texts: ['<='],
    why: 'one more append, of no events, changes nothing',
  },
  {
    file: 'src/ledger/sqlite-index.ts',
    line: 'if (!statement) this.#statements.set(sql, (statement = this.#db.prepare(sql)))',
    texts: ['true'],
    why: 'a statement that is prepared again is the same statement; it only takes longer',
  },
  {
    file: 'src/ledger/filling.ts',
    line: "const call = parts.find((part): part is ToolCallPart => part.type === 'tool-call' && part.id === id)",
    texts: ['findLast'],
    why: 'no two calls of a message have one id',
  },
  {
    file: 'src/ledger/sqlite.ts',
    line: 'rows.length <= MOST_ROWS && rows.every(({ contents }) => !contents)',
    texts: ['<'],
    why: 'one statement and a transaction add the same rows; it only takes longer',
  },
  {
    file: 'src/ledger/sqlite-family.ts',
    line: 'if (unused.size === 0) return',
    texts: ['false'],
    why: 'a list of nothing is looked through and nothing is dropped; it only takes longer',
  },
]

export const EXCUSED_FILES: readonly string[] = [...new Set(ROWS.map(({ file }) => file))]

/** The rows of a file whose line is no longer there. */
export function staleRows(file: string, source: string): string[] {
  const lines = new Set(source.split('\n').map(line => line.trim()))
  return ROWS.flatMap(row => (row.file === file && !lines.has(row.line) ? [row.line] : []))
}

export function whyEquivalent(file: string, source: string, { start, text }: Mutation): string | undefined {
  const from = source.lastIndexOf('\n', start) + 1
  const to = source.indexOf('\n', start)
  const line = source.slice(from, to).trim()
  return ROWS.find(row => row.file === file && row.line === line && (row.texts?.includes(text) ?? true))?.why
}
