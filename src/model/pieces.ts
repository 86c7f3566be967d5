/**
 * How o200k cuts a text: no token crosses a piece, and every character belongs to one. The rule is a pattern. For most
 * pieces the same is found by the kind of each character. Letters without case, combining marks and characters beyond
 * 16 bits are left to the pattern.
 *
 * The text is copied into an array of character codes first: reading a character of a string takes ten times as long as
 * one of an array, and counting is most of what a plan costs.
 */
const UPPER = '[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]'
const LOWER = '[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]'
const SHORT_FORM = "(?:'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE]))?"
const PIECE = new RegExp(
  [
    `[^\\r\\n\\p{L}\\p{N}]?${UPPER}*${LOWER}+${SHORT_FORM}`,
    `[^\\r\\n\\p{L}\\p{N}]?${UPPER}+${LOWER}*${SHORT_FORM}`,
    '\\p{N}{1,3}',
    ' ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*',
    '\\s*[\\r\\n]+',
    '\\s+(?!\\S)',
    '\\s+',
  ].join('|'),
  'uy',
)

const OTHER = 1
const SIGN = 2
const DIGIT = 3
const UPPERCASE = 4
const LOWERCASE = 5
const BLANK = 6
const NEWLINE = 7
const END = 8
const ENCODER = new TextEncoder()
/** The kind of every character that was seen so far; 0 for the others. */
const KINDS = new Uint8Array(65_536)
const SPACE = 0x20
const SLASH = 0x2f
const APOSTROPHE = 0x27
const LONGEST_NUMBER = 3

function kindOf(code: number): number {
  const character = String.fromCharCode(code)
  if (/[\r\n]/.test(character)) return NEWLINE
  if (/\s/.test(character)) return BLANK
  if (/\p{Ll}/u.test(character)) return LOWERCASE
  if (/[\p{Lu}\p{Lt}]/u.test(character)) return UPPERCASE
  if (/[\p{Lm}\p{Lo}\p{M}\p{Cs}]/u.test(character)) return OTHER
  return /\p{N}/u.test(character) ? DIGIT : SIGN
}

/** The pieces of one text at a time. */
export class Pieces {
  /** The characters of the text. */
  readonly codes: Uint16Array
  readonly #kinds: Uint8Array
  readonly #bytes: Uint8Array<ArrayBuffer>
  #text = ''

  constructor(longestText: number) {
    this.codes = new Uint16Array(longestText)
    this.#kinds = new Uint8Array(longestText + 1)
    this.#bytes = new Uint8Array(longestText)
  }

  /** Takes a text, which must not be longer than the longest. */
  read(text: string): void {
    this.#text = text
    const { length } = text
    const { codes } = this
    const kinds = this.#kinds
    this.#copyCodes(text)
    for (let i = 0; i < length; i++) {
      const code = codes[i]!
      if (KINDS[code] === 0) KINDS[code] = kindOf(code)
      kinds[i] = KINDS[code]!
    }
    kinds[length] = END
  }

  /** ASCII, as nearly all code is, has its characters as bytes. */
  #copyCodes(text: string): void {
    const { codes } = this
    const bytes = this.#bytes
    const { read, written } = ENCODER.encodeInto(text, bytes)
    if (read === text.length && written === read) codes.set(bytes.subarray(0, written))
    else for (let i = 0; i < text.length; i++) codes[i] = text.charCodeAt(i)
  }

  /** Where the piece ends that begins at a place. */
  end(from: number): number {
    const end = this.#endByKind(from)
    if (end > 0) return end
    PIECE.lastIndex = from
    return PIECE.test(this.#text) ? PIECE.lastIndex : this.#text.length
  }

  /** The same without the pattern; 0 where a character has a say in it that the kinds do not tell. */
  #endByKind(from: number): number {
    const kinds = this.#kinds
    const first = kinds[from]
    if (first === OTHER) return 0
    if (first === DIGIT) return this.#numberEnd(from)
    const letters = first === UPPERCASE || first === LOWERCASE ? from : from + 1
    if (first !== NEWLINE) {
      const second = kinds[letters]
      if (second === OTHER) return 0
      if (second === UPPERCASE || second === LOWERCASE) return this.#wordEnd(letters)
    }
    if (first === SIGN) return this.#signsEnd(from)
    if (this.codes[from] === SPACE && kinds[from + 1] === SIGN) return this.#signsEnd(from + 1)
    return this.#blankEnd(from)
  }

  #numberEnd(from: number): number {
    const kinds = this.#kinds
    let at = from + 1
    while (at < from + LONGEST_NUMBER && kinds[at] === DIGIT) at++
    return at < from + LONGEST_NUMBER && kinds[at] === OTHER ? 0 : at
  }

  /** Capitals, then small letters, then a short form as in `it's`. */
  #wordEnd(from: number): number {
    const kinds = this.#kinds
    let at = from
    while (kinds[at] === UPPERCASE) at++
    while (kinds[at] === LOWERCASE) at++
    if (kinds[at] === OTHER) return 0
    return this.codes[at] === APOSTROPHE && kinds[at] !== END ? at + shortForm(this.#text, at + 1) : at
  }

  #signsEnd(from: number): number {
    const kinds = this.#kinds
    let at = from
    while (kinds[at] === SIGN) at++
    if (kinds[at] === OTHER) return 0
    while (kinds[at] === NEWLINE || (kinds[at] === SIGN && this.codes[at] === SLASH)) at++
    return at
  }

  /** Up to the last line break; without one all blanks but the last, which goes with what follows. */
  #blankEnd(from: number): number {
    const kinds = this.#kinds
    let [at, lines] = [from, 0]
    for (; kinds[at] === BLANK || kinds[at] === NEWLINE; at++) if (kinds[at] === NEWLINE) lines = at + 1
    if (lines > 0) return lines
    return kinds[at] === END || at === from + 1 ? at : at - 1
  }
}

function shortForm(text: string, at: number): number {
  const one = text.slice(at, at + 1).toLowerCase()
  if (one === 's' || one === 'd' || one === 'm' || one === 't') return 2
  const two = text.slice(at, at + 2).toLowerCase()
  return two === 'll' || two === 've' || two === 're' ? 3 : 0
}
