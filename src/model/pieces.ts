/**
 * How o200k splits a text: no token crosses a piece, and every character belongs to one. The rule is a pattern. For
 * most pieces, the kinds of the characters give the same result; letters without case, combining marks and characters
 * beyond 16 bits are left to the pattern.
 *
 * The text is first copied into an array of bytes, one per character: reading a character of a string takes ten times
 * as long as one of an array, and counting is most of the cost of a plan.
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
/** A character beyond ASCII becomes this bit and its kind. */
const BEYOND_ASCII = 0x80
/** The kind of each byte. */
const KIND_OF = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < BEYOND_ASCII ? kindOf(byte) : byte - BEYOND_ASCII,
)
/** The first byte of a character of three bytes, and of one of four. */
const LEAD_OF_THREE = 0xe0
const LEAD_OF_FOUR = 0xf0
/** The character that an encoder writes for a lone surrogate. */
const REPLACEMENT = 0xfffd
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
  /** The characters of the text. There is room for the text in UTF-8, and eight bytes can be read from any place. */
  readonly codes: Uint8Array<ArrayBuffer>
  #text = ''

  constructor(longestText: number) {
    this.codes = new Uint8Array(3 * longestText + 8)
  }

  /** Reads a text of at most `longestText` characters. */
  read(text: string): void {
    this.#text = text
    const { written } = ENCODER.encodeInto(text, this.codes)
    if (written > text.length) this.#shorten(written)
    this.codes[text.length] = BEYOND_ASCII | END
  }

  /** Puts one byte for each character in place of UTF-8; two for a character beyond 16 bits, as in the string. */
  #shorten(written: number): void {
    const { codes } = this
    let to = 0
    for (let at = 0; at < written; to++) {
      const first = codes[at]!
      if (first < BEYOND_ASCII) {
        codes[to] = first
        at++
      } else if (first < LEAD_OF_FOUR) {
        codes[to] = BEYOND_ASCII | this.#kindAt(at, first)
        at += first < LEAD_OF_THREE ? 2 : 3
      } else {
        codes[to] = codes[++to] = BEYOND_ASCII | OTHER
        at += 4
      }
    }
  }

  /** The kind of a character of two or three bytes. */
  #kindAt(at: number, first: number): number {
    const [second, third] = [this.codes[at + 1]! & 0x3f, this.codes[at + 2]! & 0x3f]
    const code = first < LEAD_OF_THREE ? ((first & 0x1f) << 6) | second : ((first & 0xf) << 12) | (second << 6) | third
    if (KINDS[code] === 0) KINDS[code] = code === REPLACEMENT ? OTHER : kindOf(code)
    return KINDS[code]!
  }

  /** The end of the piece that begins at `from`. */
  end(from: number): number {
    const end = this.#endByKind(from)
    if (end > 0) return end
    PIECE.lastIndex = from
    return PIECE.test(this.#text) ? PIECE.lastIndex : this.#text.length
  }

  /** The same without the pattern; 0 if the kinds of the characters do not decide it. */
  #endByKind(from: number): number {
    const { codes } = this
    const first = KIND_OF[codes[from]!]
    if (first === OTHER) return 0
    if (first === DIGIT) return this.#numberEnd(from)
    const letters = first === UPPERCASE || first === LOWERCASE ? from : from + 1
    if (first !== NEWLINE) {
      const second = KIND_OF[codes[letters]!]
      if (second === OTHER) return 0
      if (second === UPPERCASE || second === LOWERCASE) return this.#wordEnd(letters)
    }
    if (first === SIGN) return this.#signsEnd(from)
    if (codes[from] === SPACE && KIND_OF[codes[from + 1]!] === SIGN) return this.#signsEnd(from + 1)
    return this.#blankEnd(from)
  }

  #numberEnd(from: number): number {
    const { codes } = this
    let at = from + 1
    while (at < from + LONGEST_NUMBER && KIND_OF[codes[at]!] === DIGIT) at++
    return at < from + LONGEST_NUMBER && KIND_OF[codes[at]!] === OTHER ? 0 : at
  }

  /** Capitals, then small letters, then a short form as in `it's`. */
  #wordEnd(from: number): number {
    const { codes } = this
    let at = from
    while (KIND_OF[codes[at]!] === UPPERCASE) at++
    while (KIND_OF[codes[at]!] === LOWERCASE) at++
    if (KIND_OF[codes[at]!] === OTHER) return 0
    return codes[at] === APOSTROPHE ? at + shortForm(this.#text, at + 1) : at
  }

  #signsEnd(from: number): number {
    const { codes } = this
    let at = from
    while (KIND_OF[codes[at]!] === SIGN) at++
    if (KIND_OF[codes[at]!] === OTHER) return 0
    while (KIND_OF[codes[at]!] === NEWLINE || codes[at] === SLASH) at++
    return at
  }

  /** Up to the last line break; without one all blanks except the last, which belongs to the next piece. */
  #blankEnd(from: number): number {
    const { codes } = this
    let [at, lines] = [from, 0]
    for (; KIND_OF[codes[at]!] === BLANK || KIND_OF[codes[at]!] === NEWLINE; at++)
      if (KIND_OF[codes[at]!] === NEWLINE) lines = at + 1
    if (lines > 0) return lines
    return KIND_OF[codes[at]!] === END || at === from + 1 ? at : at - 1
  }
}

function shortForm(text: string, at: number): number {
  const one = text.slice(at, at + 1).toLowerCase()
  if (one === 's' || one === 'd' || one === 'm' || one === 't') return 2
  const two = text.slice(at, at + 2).toLowerCase()
  return two === 'll' || two === 've' || two === 're' ? 3 : 0
}
