/**
 * Requests from a pipe or a dumb terminal: whole lines, no cursor. Nothing is echoed into a pipe, so that the output
 * holds only the agent's words. Ctrl-C reaches the process as a signal here.
 */
import { createInterface } from 'node:readline'
import { answerIn, type Input, type InputOptions, LEAVE, MORE, PROMPT, Request, type Terminal } from './input.ts'

export class LineInput implements Input {
  readonly #options: InputOptions
  readonly #stdin: Terminal
  readonly #lines: string[] = []
  readonly #reader
  readonly #onSignal = () => this.#signal()
  #ended = false
  #waiting: ((line: string | undefined) => void) | undefined
  #choosing = false
  readonly typed = ''
  interrupted = () => {}

  constructor(options: InputOptions, stdin: Terminal) {
    this.#options = options
    this.#stdin = stdin
    this.#reader = createInterface({ input: stdin, terminal: false, crlfDelay: Number.POSITIVE_INFINITY })
    this.#reader.on('line', line => (this.#waiting ? this.#waiting(line) : this.#lines.push(line)))
    this.#reader.on('close', () => {
      this.#ended = true
      this.#waiting?.(undefined)
    })
    process.on('SIGINT', this.#onSignal)
  }

  async read(): Promise<string | undefined> {
    const request = new Request()
    for (let warned = false; ; ) {
      this.#write(request.begun ? MORE : PROMPT)
      const line = await this.#next()
      if (line === undefined) return request.rest
      if (line === INTERRUPT) {
        if (warned || this.#stdin.isTTY !== true) return undefined
        warned = true
        request.clear()
        this.#options.say(LEAVE)
        continue
      }
      if (this.#stdin.isTTY !== true) this.#write(`${line}\n`)
      const whole = request.add(line)
      if (whole === undefined) continue
      this.#options.history.add(whole)
      return whole
    }
  }

  /** In a pipe the next line is the answer if it is a valid one; otherwise it is the next request. */
  async choose(words: readonly string[]): Promise<string | undefined> {
    this.#choosing = true
    const line = await this.#next()
    this.#choosing = false
    if (line === undefined || line === INTERRUPT) return undefined
    const word = answerIn(line, words)
    if (word === undefined && this.#stdin.isTTY !== true && line.trim() !== '') this.#lines.unshift(line)
    return word
  }

  close(): void {
    process.off('SIGINT', this.#onSignal)
    this.#reader.close()
    this.#stdin.pause()
  }

  #next(): Promise<string | undefined> {
    const ready = this.#lines.shift()
    if (ready !== undefined || this.#ended) return Promise.resolve(ready)
    return new Promise(resolve => {
      this.#waiting = line => {
        this.#waiting = undefined
        resolve(line)
      }
    })
  }

  #signal(): void {
    this.#write('\n')
    if (this.#choosing || !this.#waiting) this.interrupted()
    this.#waiting?.(INTERRUPT)
  }

  #write(text: string): void {
    if (this.#options.io.stdout.isTTY === true) this.#options.io.stdout.write(text)
  }
}

/** Represents Ctrl-C among the lines; no line consists of this control character alone. */
const INTERRUPT = '\u0003'
