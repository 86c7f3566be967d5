/**
 * Splits a shell command into its simple commands: words without their quotes, redirections, heredocs.
 *
 * Nothing is expanded or run; a word that a shell would expand (`$x`, `$(…)`, backticks) carries a mark, so that it is
 * not taken for a literal path. It never throws: a command with an open quote ends where its text ends.
 */

export type SimpleCommand = {
  words: string[]
  /** Whether it reads the output of the command before it in the pipeline. */
  piped: boolean
  /** Files that standard output goes to. */
  out: { path: string; append: boolean }[]
  /** Files that it reads by `<`. */
  in: string[]
  heredoc?: string
  /** The number of subshells around it: the `cd` of `(cd x; …)` does not affect later commands. */
  depth: number
}

export type ShellOptions = {
  /** PowerShell: a backslash is a letter like any other. */
  powershell?: boolean
}

const DYNAMIC = '\0'

/** True when the shell would take the word as it is. */
export function isLiteral(word: string): boolean {
  return !word.includes(DYNAMIC)
}

/** The word without the mark. */
export function plain(word: string): string {
  return word.replaceAll(DYNAMIC, '')
}

export function splitShell(text: string, options: ShellOptions = {}): SimpleCommand[] {
  return new Splitter(text, options.powershell === true).run()
}

/** A cursor over one command. The words so far, the redirection that waits for its file, the open heredocs. */
class Splitter {
  readonly #text: string
  readonly #powershell: boolean
  readonly #commands: SimpleCommand[] = []
  #at = 0
  #depth = 0
  #command = emptyCommand(false, 0)
  #word: string | undefined
  #redirect: '<' | '>' | '>>' | 'ignore' | undefined
  #heredocs: { command: SimpleCommand; delimiter: string; indented: boolean }[] = []

  constructor(text: string, powershell: boolean) {
    this.#text = text
    this.#powershell = powershell
  }

  run(): SimpleCommand[] {
    while (this.#at < this.#text.length) this.#step(this.#text[this.#at]!)
    this.#endCommand(false)
    return this.#commands
  }

  #step(char: string): void {
    switch (char) {
      case ' ':
      case '\t':
      case '\r':
        this.#endWord()
        this.#at++
        return
      case '\n':
        this.#endCommand(false)
        this.#at++
        this.#takeHeredocs()
        return
      case ';':
      case '|':
      case '&':
        return this.#operator(char)
      case '<':
      case '>':
        return this.#redirection(char)
      case '(':
      case ')':
        this.#endCommand(false)
        this.#depth = Math.max(0, this.#depth + (char === '(' ? 1 : -1))
        this.#command.depth = this.#depth
        this.#at++
        return
      case '#':
        if (this.#word === undefined) this.#at = lineEnd(this.#text, this.#at)
        else this.#append(char, 1)
        return
      default:
        this.#letter(char)
    }
  }

  #letter(char: string): void {
    const next = this.#text[this.#at + 1]
    if (char === "'") return this.#quote(this.#text.indexOf("'", this.#at + 1))
    if (char === '"') return this.#doubleQuote()
    if (char === '\\' && !this.#powershell) {
      if (next === '\n') this.#at += 2
      else this.#append(next ?? '', 2)
      return
    }
    const expansion = this.#expansionEnd(char)
    if (expansion !== undefined) return this.#dynamic(expansion)
    if (char !== '`' || this.#powershell) return this.#append(char, 1)
    const end = this.#text.indexOf('`', this.#at + 1)
    this.#dynamic(end < 0 ? this.#text.length : end + 1)
  }

  /** The end of `$(…)`, or of a variable's dollar sign; undefined if nothing is expanded here. */
  #expansionEnd(char: string): number | undefined {
    if (char !== '$') return undefined
    const next = this.#text[this.#at + 1] ?? ''
    if (next === '(') return substitutionEnd(this.#text, this.#at + 2)
    return /[\w{@*?!]/.test(next) ? this.#at + 1 : undefined
  }

  #append(text: string, length: number): void {
    this.#word = (this.#word ?? '') + text
    this.#at += length
  }

  #dynamic(end: number): void {
    this.#append(DYNAMIC + this.#text.slice(this.#at, end), end - this.#at)
  }

  #quote(end: number): void {
    const stop = end < 0 ? this.#text.length : end
    this.#append(this.#text.slice(this.#at + 1, stop), stop - this.#at + 1)
  }

  #doubleQuote(): void {
    this.#append('', 1)
    while (this.#at < this.#text.length && this.#text[this.#at] !== '"') this.#quotedLetter(this.#text[this.#at]!)
    this.#at++
  }

  #quotedLetter(char: string): void {
    const next = this.#text[this.#at + 1] ?? ''
    if (char === '\\' && !this.#powershell && '"\\$`\n'.includes(next))
      return this.#append(next === '\n' ? '' : next, 2)
    const expansion = char === '`' && !this.#powershell ? this.#at + 1 : this.#expansionEnd(char)
    if (expansion === undefined) this.#append(char, 1)
    else this.#dynamic(expansion)
  }

  #operator(char: string): void {
    const next = this.#text[this.#at + 1]
    if (char === '&' && next === '>') {
      this.#endWord()
      this.#at += 1
      return
    }
    const pipe = char === '|' && next !== '|'
    this.#endCommand(pipe)
    this.#at += next === char || (pipe && next === '&') ? 2 : 1
  }

  #redirection(char: '<' | '>'): void {
    const text = this.#text
    const fd = this.#word !== undefined && /^\d$/.test(this.#word) ? this.#word : undefined
    if (fd !== undefined) this.#word = undefined
    this.#endWord()
    if (text.startsWith('<<<', this.#at)) return this.#expect('ignore', 3)
    if (text.startsWith('<<', this.#at)) return this.#openHeredoc()
    if (text[this.#at + 1] === '(') return this.#dynamic(substitutionEnd(text, this.#at + 2))
    if (text[this.#at + 1] === '&') return this.#expect('ignore', 2)
    if (char === '<') return this.#expect('<', 1)
    const append = text[this.#at + 1] === '>'
    const length = append || text[this.#at + 1] === '|' ? 2 : 1
    this.#expect(fd === undefined || fd === '1' ? (append ? '>>' : '>') : 'ignore', length)
  }

  #expect(redirect: '<' | '>' | '>>' | 'ignore', length: number): void {
    this.#redirect = redirect
    this.#at += length
  }

  #openHeredoc(): void {
    const head = /^<<(-?)[ \t]*(?:'([^'\n]*)'|"([^"\n]*)"|\\?([^\s;|&<>()]+))/.exec(
      this.#text.slice(this.#at, this.#at + 200),
    )
    if (!head) {
      this.#at += 2
      return
    }
    const delimiter = head[2] ?? head[3] ?? head[4] ?? ''
    this.#heredocs.push({ command: this.#command, delimiter, indented: head[1] === '-' })
    this.#at += head[0].length
  }

  #takeHeredocs(): void {
    for (const { command, delimiter, indented } of this.#heredocs) {
      const { body, end } = heredocBody(this.#text, this.#at, delimiter, indented)
      command.heredoc = body
      this.#at = end
    }
    this.#heredocs = []
  }

  #endWord(): void {
    if (this.#word === undefined) return
    const word = this.#word
    this.#word = undefined
    const redirect = this.#redirect
    this.#redirect = undefined
    if (redirect === undefined) this.#command.words.push(word)
    else if (redirect === '<') this.#command.in.push(word)
    else if (redirect !== 'ignore' && !word.startsWith('/dev/') && !/^\$null$/i.test(plain(word)))
      this.#command.out.push({ path: word, append: redirect === '>>' })
  }

  #endCommand(pipe: boolean): void {
    this.#endWord()
    const command = this.#command
    if (command.words.length > 0 || command.out.length > 0) this.#commands.push(command)
    this.#command = emptyCommand(pipe, this.#depth)
  }
}

export function commandOf(words: string[]): SimpleCommand {
  return { ...emptyCommand(false, 0), words }
}

function emptyCommand(piped: boolean, depth: number): SimpleCommand {
  return { words: [], piped, out: [], in: [], depth }
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf('\n', from)
  return end < 0 ? text.length : end
}

function heredocBody(text: string, from: number, delimiter: string, indented: boolean): { body: string; end: number } {
  let at = from
  while (at < text.length) {
    const end = lineEnd(text, at)
    const line = text.slice(at, end)
    if ((indented ? line.replace(/^\t+/, '') : line).replace(/\r$/, '') === delimiter)
      return { body: text.slice(from, at), end: Math.min(end + 1, text.length) }
    at = end + 1
  }
  return { body: text.slice(from), end: text.length }
}

/** Deeper nesting than any person or model writes: the rest is taken as one word. */
const MAX_NESTING = 50

/** The end of `$(…)`, just after the matching `)`, given the place after its `(`. */
function substitutionEnd(text: string, from: number, nesting = 0): number {
  if (nesting > MAX_NESTING) return text.length
  let depth = 1
  let at = from
  let heredoc: RegExpExecArray | null = null
  while (at < text.length) {
    const char = text[at]!
    if (char === '\n' && heredoc) {
      at = heredocBody(text, at + 1, heredoc[2]!, heredoc[1] === '-').end
      heredoc = null
      continue
    }
    depth += DEPTHS[char] ?? 0
    if (depth === 0) return at + 1
    const head = heredocHead(text, at)
    heredoc = head ?? heredoc
    at = head ? at + head[0].length : behind(text, at, nesting)
  }
  return text.length
}

const DEPTHS: Record<string, number> = { '(': 1, ')': -1 }

/** The position after a character, an escaped character or a quoted text. */
function behind(text: string, at: number, nesting: number): number {
  const char = text[at]
  if (char === "'" || char === '"') return closing(text, at, char, nesting) + 1
  return at + (char === '\\' ? 2 : 1)
}

/** `<<EOF`, but not `<<<`. */
function heredocHead(text: string, at: number): RegExpExecArray | null {
  if (text[at] !== '<') return null
  return /^<<(?!<)(-?)[ \t]*['"\\]?([\w-]+)['"]?/.exec(text.slice(at, at + 200))
}

function closing(text: string, from: number, quote: string, nesting: number): number {
  let at = from + 1
  while (at < text.length && text[at] !== quote) {
    if (quote === '"' && text[at] === '\\') at++
    else if (quote === '"' && text[at] === '$' && text[at + 1] === '(')
      at = substitutionEnd(text, at + 2, nesting + 1) - 1
    at++
  }
  return at
}
