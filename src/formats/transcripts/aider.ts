/**
 * aider: `.aider.chat.history.md`, Markdown with sessions one after the other.
 *
 * Lines with `#### ` are the user's, lines with `> ` are aider's own output (they keep the mark, so that they differ
 * from typed text), all other lines are the model's. The file records no tool calls, so edits are text here too. aider
 * names its model, and below each answer its token usage; larger numbers are rounded to hundreds.
 */

import type { Usage } from '../../model/types.ts'
import { text, usageWithCached } from './json.ts'
import { Parser, type SessionRecorder, type TranscriptReader, textParts } from './transcript.ts'

const START = /^# aider chat started at (.*)/
const MODEL = /^> (?:(?:Main model|Models?): |Using )([\w./:@-]+)(?: model)?(?: with |, )/
const TOKENS =
  /^> Tokens: ([\d.,]+k?) sent,(?: ([\d.,]+k?) cache write,)?(?: ([\d.,]+k?) (?:cache hit|cached),)? ([\d.,]+k?) received/

export const aider: TranscriptReader = {
  format: 'aider',
  container: 'text-lines',
  detect: sample => (/^# aider chat started at /m.test(sample.text) ? 1 : 0),
  start: ({ name }) => new AiderParser(name),
}

type Voice = 'user' | 'output' | 'assistant'

class AiderParser extends Parser {
  #session: SessionRecorder | undefined
  #id = this.name
  #model = ''
  #voice: Voice | undefined
  #lines: string[] = []
  #at: number | undefined

  protected override read(value: unknown): void {
    const line = text(value)
    const start = START.exec(line)
    if (start) this.#begin(start[1]!.trim())
    else if (line.startsWith('####')) this.#add('user', line.replace(/^#### ?/, '').replace(/ {2}$/, ''))
    else if (/^>(?: |$)/.test(line)) this.#output(line.replace(/ {2}$/, ''))
    else this.#add(line.trim() === '' ? (this.#voice ?? 'assistant') : 'assistant', line)
  }

  #begin(started: string): void {
    this.finish()
    // The file has no time zone; the same file gives the same times everywhere.
    const at = Date.parse(`${started.replace(' ', 'T')}Z`)
    this.#at = Number.isNaN(at) ? undefined : at
    this.#id = `${this.name}@${started}`
    this.#model = ''
  }

  #output(line: string): void {
    this.#add('output', line)
    this.#model = MODEL.exec(line)?.[1] ?? this.#model
    const usage = usageIn(line, this.#model)
    if (usage) this.#session?.endResponse(usage)
  }

  protected override finish(): void {
    this.#close()
    this.#session?.end()
    this.#session = undefined
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
    // aider names the model when it starts.
    this.#session ??= this.recorder.open({ id: this.#id, model: this.#model })
    if (voice === 'assistant') this.#session.assistant(textParts(said), { at: this.#at })
    else this.#session.user(said, { at: this.#at })
  }
}

/** Sent tokens include those read from the cache and written to it, except in the first versions with a cache. */
function usageIn(line: string, model: string): Usage | undefined {
  const found = TOKENS.exec(line)
  if (!found) return undefined
  const [sent, written, cached, output] = found.slice(1).map(tokensIn) as [number, number, number, number]
  const prompt = sent < written + cached ? sent + written + cached : sent
  return usageWithCached({ prompt, cached, written, output, model })
}

function tokensIn(said = '0'): number {
  const number = Number(said.replaceAll(/[,k]/g, ''))
  return said.endsWith('k') ? Math.round(number * 1000) : number
}
