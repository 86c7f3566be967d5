/**
 * The tokenizer of BERT models, from their tokenizer.json: it lowercases, removes accents, and splits words into
 * pieces.
 */
import { isRecord } from '../model/json.ts'

export type Tokenize = (text: string) => number[]

const MAX_WORD_CHARS = 100
/** Words; each punctuation mark and each Chinese character is a separate word. */
const WORDS = /\p{Script=Han}|[\p{L}\p{N}\p{M}]+|[^\s\p{L}\p{N}\p{M}]/gu
const MARKS = /\p{M}+/gu
const WHOLE_HAN = /\p{Script=Han}/gu

/** Gives at most `most` tokens, including the start and end tokens; `undefined` for another kind of tokenizer. */
export function wordPieces(file: unknown, most: number): Tokenize | undefined {
  const model = isRecord(file) ? file['model'] : undefined
  const vocab = isRecord(model) ? model['vocab'] : undefined
  if (!isRecord(vocab) || Array.isArray(vocab)) return undefined
  const ids = new Map(Object.entries(vocab).flatMap(([piece, id]) => (typeof id === 'number' ? [[piece, id]] : [])))
  const [begin, end, unknown] = ['[CLS]', '[SEP]', '[UNK]'].map(name => ids.get(name))
  if (begin === undefined || end === undefined || unknown === undefined) return undefined
  return text => {
    const plain = text.toLowerCase().normalize('NFD').replace(MARKS, '').replace(WHOLE_HAN, ' $& ')
    const tokens = [begin]
    for (const [word] of plain.matchAll(WORDS)) {
      if (tokens.length >= most - 1) break
      tokens.push(...(piecesOf(word, ids) ?? [unknown]))
    }
    return [...tokens.slice(0, most - 1), end]
  }
}

/** The longest piece in the vocabulary, then the longest of the rest; `undefined` if a piece is missing. */
function piecesOf(word: string, ids: ReadonlyMap<string, number>): number[] | undefined {
  if (word.length > MAX_WORD_CHARS) return undefined
  const pieces: number[] = []
  for (let from = 0; from < word.length; ) {
    let to = word.length
    let id: number | undefined
    for (; to > from; to--) {
      id = ids.get((from > 0 ? '##' : '') + word.slice(from, to))
      if (id !== undefined) break
    }
    if (id === undefined) return undefined
    pieces.push(id)
    from = to
  }
  return pieces
}
