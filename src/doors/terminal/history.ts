/**
 * The requests typed in earlier chats of this home, for the arrow keys: one JSON text a line, so that a request of
 * several lines is one entry. Only its owner can read the file. An unreadable line is skipped, because the history must
 * never prevent a chat from starting.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { storeOf } from '../../files/folder.ts'
import { covered, placesIn, type ToRedact } from '../../ledger/redaction.ts'

const KEPT = 1000
const FILE = 'chat-history.jsonl'

export class History {
  readonly #path: string
  #entries: string[]

  constructor(home: string) {
    this.#path = join(home, FILE)
    this.#entries = read(this.#path)
    if (this.#entries.length > KEPT * 2) this.#shorten()
  }

  /** Newest first, as readline wants it. */
  get newestFirst(): string[] {
    return this.#entries.slice(-KEPT).reverse()
  }

  add(text: string): void {
    if (text.trim() === '' || text === this.#entries.at(-1)) return
    this.#entries.push(text)
    try {
      mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 })
      appendFileSync(this.#path, `${JSON.stringify(text)}\n`, { mode: 0o600 })
    } catch {
      // A home that cannot be written to still has a history while the chat runs.
    }
  }

  #shorten(): void {
    this.#entries = this.#entries.slice(-KEPT)
    try {
      writeFileSync(this.#path, this.#entries.map(text => `${JSON.stringify(text)}\n`).join(''), { mode: 0o600 })
    } catch {
      // The history in memory is enough, as above.
    }
  }
}

/** Redacts texts in the history of a home, unless it is a preview. Returns how many of each kind there are. */
export async function redactHistory(
  home: string,
  what: ToRedact,
  { preview }: { preview: boolean },
): Promise<Record<string, number>> {
  const kinds: Record<string, number> = {}
  if (!existsSync(join(home, FILE))) return kinds
  const cover = (text: string) => {
    const places = placesIn(text, what)
    for (const { kind } of places) kinds[kind] = (kinds[kind] ?? 0) + 1
    return covered(text, places)
  }
  const coverLine = (line: string) => {
    const entry = entryIn(line)
    return entry === undefined ? cover(line) : JSON.stringify(cover(entry))
  }
  const coverAll = (text: string) => text.split('\n').map(coverLine).join('\n')
  if (preview) coverAll(readFileSync(join(home, FILE), 'utf8'))
  else await storeOf(home).change(FILE, now => now && coverAll(now))
  return kinds
}

function read(path: string): string[] {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    return []
  }
  return text.split('\n').flatMap(line => entryIn(line) ?? [])
}

function entryIn(line: string): string | undefined {
  try {
    const entry: unknown = JSON.parse(line)
    return typeof entry === 'string' ? entry : undefined
  } catch {
    return undefined
  }
}
