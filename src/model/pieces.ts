/**
 * How o200k cuts a text: no token crosses a piece, and every character belongs to one. The rule is a pattern; where a
 * piece and what follows it are ASCII, as nearly all code is, the same is found by looking at each character once. That
 * is several times as fast, and counting is most of what a plan costs.
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

const [OTHER, SIGN, DIGIT, UPPERCASE, LOWERCASE, BLANK, NEWLINE] = [0, 1, 2, 3, 4, 5, 6]
const KINDS = Uint8Array.from({ length: 128 }, (_, code) => kindOf(String.fromCharCode(code)))
const [SPACE, SLASH, APOSTROPHE] = [0x20, 0x2f, 0x27]
const LONGEST_NUMBER = 3

function kindOf(character: string): number {
  if (/[\r\n]/.test(character)) return NEWLINE!
  if (/\s/.test(character)) return BLANK!
  if (/[a-z]/.test(character)) return LOWERCASE!
  if (/[A-Z]/.test(character)) return UPPERCASE!
  return /\d/.test(character) ? DIGIT! : SIGN!
}

/** Where the piece ends that begins at a place. */
export function pieceEnd(text: string, from: number): number {
  const end = asciiEnd(text, from)
  if (end > 0) return end
  PIECE.lastIndex = from
  return PIECE.test(text) ? PIECE.lastIndex : text.length
}

/** The kind of the character at a place: `OTHER` where it is not ASCII, `NEWLINE` behind the end. */
function kindAt(text: string, at: number): number {
  const code = text.charCodeAt(at)
  return code < 128 ? KINDS[code]! : code >= 128 ? OTHER! : END
}
const END = 7

/** The same for ASCII; 0 where another character has a say in it. */
function asciiEnd(text: string, from: number): number {
  const first = kindAt(text, from)
  if (first === OTHER) return 0
  if (first === DIGIT) return numberEnd(text, from)
  const letters = first === UPPERCASE || first === LOWERCASE ? from : from + 1
  if (first !== NEWLINE) {
    const second = kindAt(text, letters)
    if (second === OTHER) return 0
    if (second === UPPERCASE || second === LOWERCASE) return wordEnd(text, letters)
  }
  if (first === SIGN) return signsEnd(text, from)
  if (text.charCodeAt(from) === SPACE && kindAt(text, from + 1) === SIGN) return signsEnd(text, from + 1)
  return blankEnd(text, from)
}

function numberEnd(text: string, from: number): number {
  let at = from + 1
  while (at < from + LONGEST_NUMBER && kindAt(text, at) === DIGIT) at++
  return at < from + LONGEST_NUMBER && kindAt(text, at) === OTHER ? 0 : at
}

/** Capitals, then small letters, then a short form as in `it's`. */
function wordEnd(text: string, from: number): number {
  let at = from
  while (kindAt(text, at) === UPPERCASE) at++
  while (kindAt(text, at) === LOWERCASE) at++
  const code = text.charCodeAt(at)
  if (code >= 128) return 0
  return code === APOSTROPHE ? at + shortForm(text, at + 1) : at
}

function shortForm(text: string, at: number): number {
  const one = text.slice(at, at + 1).toLowerCase()
  if (one === 's' || one === 'd' || one === 'm' || one === 't') return 2
  const two = text.slice(at, at + 2).toLowerCase()
  return two === 'll' || two === 've' || two === 're' ? 3 : 0
}

function signsEnd(text: string, from: number): number {
  let at = from
  while (kindAt(text, at) === SIGN) at++
  if (kindAt(text, at) === OTHER) return 0
  while (kindAt(text, at) === NEWLINE || text.charCodeAt(at) === SLASH) at++
  return at
}

/** Up to the last line break; without one all blanks but the last, which goes with what follows. */
function blankEnd(text: string, from: number): number {
  let [at, lines] = [from, 0]
  for (let kind = kindAt(text, at); kind === BLANK || kind === NEWLINE; kind = kindAt(text, at)) {
    at++
    if (kind === NEWLINE) lines = at
  }
  if (kindAt(text, at) === OTHER) return 0
  if (lines > 0) return lines
  return at === text.length || at === from + 1 ? at : at - 1
}
