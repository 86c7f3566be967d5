/**
 * aider: `.aider.chat.history.md`, Markdown with sessions one after the other.
 *
 * `#### ` lines are the user's, `> ` lines are aider's own output (they keep the mark, to be told from what the
 * user typed), everything else is the model's. The file records no tool calls: edits are text here as there.
 */

import { text } from './json.ts'
import {
  Recorder,
  type SessionRecorder,
  type TranscriptParser,
  type TranscriptReader,
  textParts,
} from './transcript.ts'

const START = /^# aider chat started at (.*)/

export const aider: TranscriptReader = {
  format: 'aider',
  container: 'text-lines',
  detect: sample => (/^# aider chat started at /m.test(sample.text) ? 1 : 0),
  start: ({ name }) => new AiderParser(name),
}

type Voice = 'user' | 'output' | 'assistant'

class AiderParser implements TranscriptParser {
  readonly #recorder = new Recorder()
  readonly #name: string
  #session: SessionRecorder | undefined
  #voice: Voice | undefined
  #lines: string[] = []
  #at: number | undefined

  constructor(name: string) {
    this.#name = name
  }

  take(value: unknown) {
    const line = text(value)
    const start = START.exec(line)
    if (start) this.#begin(start[1]!.trim())
    else if (line.startsWith('####')) this.#add('user', line.replace(/^#### ?/, '').replace(/ {2}$/, ''))
    else if (/^>(?: |$)/.test(line)) this.#add('output', line.replace(/ {2}$/, ''))
    else this.#add(line.trim() === '' ? (this.#voice ?? 'assistant') : 'assistant', line)
    return this.#recorder.drain()
  }

  end() {
    this.#finish()
    return this.#recorder.drain()
  }

  #begin(started: string): void {
    this.#finish()
    // The file has no time zone; the same file gives the same times everywhere.
    const at = Date.parse(`${started.replace(' ', 'T')}Z`)
    this.#at = Number.isNaN(at) ? undefined : at
    this.#session = this.#recorder.open({ id: `${this.#name}@${started}` })
  }

  #finish(): void {
    this.#close()
    this.#session?.end()
  }

  #add(voice: Voice, line: string): void {
    if (voice !== this.#voice) this.#close()
    this.#voice = voice
    this.#lines.push(line)
  }

  #close(): void {
    const said = this.#lines.join('\n').replace(/^\n+/, '').trimEnd()
    const voice = this.#voice
    this.#lines = []
    this.#voice = undefined
    if (said === '') return
    this.#session ??= this.#recorder.open({ id: this.#name })
    if (voice === 'assistant') this.#session.assistant(textParts(said), { at: this.#at })
    else this.#session.user(said, { at: this.#at })
  }
}
