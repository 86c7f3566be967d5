/**
 * The requests typed in earlier chats of this home, for the arrow keys: one JSON text a line, so that a request of
 * several lines is one entry. Only its owner can read the file. An unreadable line is skipped: the history is a
 * convenience, and must never keep a chat from starting.
 */
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const KEPT = 1000

export class History {
  readonly #path: string
  #entries: string[]

  constructor(home: string) {
    this.#path = join(home, 'chat-history.jsonl')
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
      // As above.
    }
  }
}

function read(path: string): string[] {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    return []
  }
  return text.split('\n').flatMap(line => {
    try {
      const entry: unknown = JSON.parse(line)
      return typeof entry === 'string' ? [entry] : []
    } catch {
      return []
    }
  })
}
