/**
 * Requests from a terminal with a cursor: readline edits the line (history, completion, the usual keys), and this file
 * adds the rest. A paste stays together, Alt-Enter begins a new line, and keys that are pressed while the agent works
 * are kept and replayed when the next line is asked for.
 *
 * Every line has a separate readline interface, so that between two lines all keys come only to this file.
 */
import { createInterface, emitKeypressEvents, type Interface } from 'node:readline'
import {
  answerIn,
  type ChooseOptions,
  type Input,
  type InputOptions,
  LEAVE,
  MORE,
  PROMPT,
  Request,
  type Terminal,
} from './input.ts'

type Key = { name?: string; ctrl?: boolean; meta?: boolean }
type Pressed = [text: string | undefined, key: Key]
type Answer = { text: string; goesOn: boolean } | 'interrupt' | 'end'

export class KeyInput implements Input {
  readonly #options: InputOptions
  readonly #stdin: Terminal
  readonly #onKey = (text: string | undefined, key: Key) => this.#key(text, key)
  #asking: Interface | undefined
  #choosing: ((text: string | undefined, key: Key) => void) | undefined
  #answer: Pressed[] = []
  /** The rest of an answer after its first key: more letters of the word, and Enter, belong to the answer. */
  #rest: { word: string; pressed: Pressed[] } | undefined
  /** Keys that were pressed when no input was asked for. */
  #ahead: Pressed[] = []
  /** While a request is being read, keys between two lines wait, including Ctrl-C. */
  #reading = false
  #pasting = false
  #goesOn = false
  interrupted = () => {}

  constructor(options: InputOptions, stdin: Terminal) {
    this.#options = options
    this.#stdin = stdin
    emitKeypressEvents(stdin)
    stdin.on('keypress', this.#onKey)
    this.#listen()
  }

  get typed(): string {
    return textOf(this.#ahead) + textOf(this.#answer)
  }

  async read(): Promise<string | undefined> {
    this.#reading = true
    try {
      return await this.#request()
    } finally {
      this.#reading = false
    }
  }

  async #request(): Promise<string | undefined> {
    const request = new Request()
    for (let warned = false; ; ) {
      const answer = await this.#line(request.begun ? MORE : PROMPT)
      if (answer === 'end' || (answer === 'interrupt' && warned)) return undefined
      if (answer === 'interrupt') {
        warned = true
        request.clear()
        this.#options.say(LEAVE)
        continue
      }
      warned = false
      const whole = request.add(answer.text, answer.goesOn)
      if (whole === undefined) continue
      this.#options.history.add(whole)
      return whole
    }
  }

  choose(words: readonly string[], { signal, changed = () => {} }: ChooseOptions = {}): Promise<string | undefined> {
    return new Promise(resolve => {
      const end = (word?: string) => {
        this.#choosing = undefined
        this.#answer = []
        signal?.removeEventListener('abort', stop)
        resolve(word)
      }
      const stop = () => end()
      if (signal?.aborted) return end()
      signal?.addEventListener('abort', stop)
      // A line that was begun before the question must end first: it was not typed as an answer.
      let isOwn = textOf(this.#ahead).split(ENTER).at(-1) === ''
      this.#choosing = (text, key) => {
        if (isStop(key)) {
          end()
          return key.ctrl ? this.interrupted() : undefined
        }
        const word = isOwn ? this.#answered(text, key, words) : undefined
        if (word !== undefined) return end(word)
        this.#typed(text, key, isOwn)
        isOwn ||= isEnter(key)
        changed()
      }
    })
  }

  /** The word that this key completes as an answer, if any; the rest of its letters may follow. */
  #answered(text: string | undefined, key: Key, words: readonly string[]): string | undefined {
    const said = textOf(this.#answer) + (isEnter(key) ? '' : (text ?? ''))
    const word = this.#pasting ? undefined : answerIn(said, words)
    if (word !== undefined) this.#rest = { word: isEnter(key) ? '' : word.slice(said.trim().length), pressed: [] }
    return word
  }

  /** Whether a key continues a word that was answered by its first letter. Keys that do not are kept as input. */
  #isRest(text: string | undefined, key: Key): boolean {
    const { word, pressed } = this.#rest!
    if (text !== undefined && text !== '' && text === word[pressed.length]) return pressed.push([text, key]) > 0
    this.#rest = undefined
    if (isEnter(key) && (pressed.length === 0 || pressed.length === word.length)) return true
    for (const [piece, one] of pressed) this.#key(piece, one)
    return false
  }

  /** Handles a key that does not decide yet: part of the answer, or of the text typed before the question. */
  #typed(text: string | undefined, key: Key, isAnswer: boolean): void {
    const line = isAnswer ? this.#answer : this.#ahead
    line.push([text, key])
    if (isAnswer && isEnter(key)) this.#keepAnswer()
  }

  close(): void {
    this.#asking?.close()
    this.#stdin.removeListener('keypress', this.#onKey)
    this.#options.io.stdout.write(PASTE_OFF)
    this.#stdin.setRawMode?.(false)
    this.#stdin.pause()
  }

  /** Reads one line of the terminal; further keys of a paste wait for the next line. */
  #line(prompt: string): Promise<Answer> {
    const { io, history, complete } = this.#options
    return new Promise(resolve => {
      const asking = createInterface({
        input: this.#stdin,
        output: io.stdout as NodeJS.WritableStream,
        terminal: true,
        prompt,
        history: history.newestFirst,
        historySize: 1000,
        completer: (line: string) => [this.#pasting ? [] : complete(line), line],
      })
      this.#asking = asking
      let answer: Answer = 'end'
      asking.once('line', text => {
        answer = { text: text.replace(/\r\n?/g, '\n'), goesOn: this.#goesOn || this.#pasting }
        this.#goesOn = false
        asking.close()
      })
      asking.once('SIGINT', () => {
        answer = 'interrupt'
        this.#pasting = false
        io.stdout.write('\r\n')
        asking.close()
      })
      asking.once('close', () => {
        this.#asking = undefined
        this.#listen()
        if (answer === 'end') io.stdout.write('\r\n')
        resolve(answer)
      })
      io.stdout.write(PASTE_ON)
      asking.prompt()
      this.#replay()
    })
  }

  /** Keeps text that was typed at a question but does not answer it. */
  #keepAnswer(): void {
    const line = this.#answer.splice(0)
    if (textOf(line).replaceAll(ENTER, '').trim() !== '') this.#ahead.push(...line)
  }

  #listen(): void {
    this.#stdin.setRawMode?.(true)
    this.#stdin.resume()
  }

  #replay(): void {
    while (this.#ahead.length > 0 && this.#asking) {
      const [text, key] = this.#ahead.shift()!
      this.#stdin.emit('keypress', text, key)
    }
  }

  /** Handles keys that readline does not know. */
  #inLine(asking: Interface, { name, meta }: Key): void {
    if (name === 'paste-start' || name === 'paste-end') this.#pasting = name === 'paste-start'
    if (meta && name === 'return') {
      this.#goesOn = true
      asking.write(null, { name: 'return' })
    }
    if (this.#pasting && name === 'tab') asking.write('\t')
  }

  #key(text: string | undefined, key: Key): void {
    if (this.#choosing) return this.#choosing(text, key)
    if (this.#rest && this.#isRest(text, key)) return
    if (this.#asking) return this.#inLine(this.#asking, key)
    if (key.ctrl && key.name === 'c' && !this.#reading) {
      this.#ahead = []
      this.#pasting = false
      this.interrupted()
    } else this.#ahead.push([text, key])
  }
}

/** Terminals put marks around a paste, so that its line ends do not count as Enter. */
const PASTE_ON = '\u001b[?2004h'
const PASTE_OFF = '\u001b[?2004l'

const ENTER = '⏎ '

/** The text of pressed keys, with a sign for Enter. */
function textOf(keys: readonly Pressed[]): string {
  let text = ''
  for (const [piece, { name, ctrl, meta }] of keys) {
    if (name === 'backspace') text = text.slice(0, -1)
    else if (name === 'return' || name === 'enter') text += ENTER
    else if (piece && !ctrl && !meta) text += piece
  }
  return text
}

function isEnter({ name }: Key): boolean {
  return name === 'return' || name === 'enter'
}

function isStop({ name, ctrl }: Key): boolean {
  return name === 'escape' || (name === 'c' && ctrl === true)
}
