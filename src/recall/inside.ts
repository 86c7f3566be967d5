/**
 * Finds a word by a text inside it ("meout" finds connectionTimeoutMs), for a query whose words find nothing.
 *
 * A segment stores its words as written, each once, sorted, in blocks. A segment with many blocks has an index from
 * every three characters to the blocks that contain them, so a search reads only blocks that can contain the text. The
 * distinct words are far shorter than the texts: this takes a third of the space of an index of the texts.
 */
import { eachPosting, postingsOf } from './postings.ts'
import { MIN_INSIDE_CHARS } from './words.ts'

const GRAM = MIN_INSIDE_CHARS
const WORDS_PER_BLOCK = 32
/** Fewer blocks than this are read without an index. */
const MIN_BLOCKS_INDEXED = 32

export type Vocabulary = {
  /** One line for each word, with its term if the two differ. */
  blocks: readonly string[]
  /** The numbers of the blocks that contain each three characters, as postings. */
  grams: ReadonlyMap<string, Uint8Array>
}

export function vocabularyOf(lines: Iterable<string>): Vocabulary {
  const sorted = [...new Set(lines)].sort()
  const blocks: string[] = []
  for (let i = 0; i < sorted.length; i += WORDS_PER_BLOCK) blocks.push(sorted.slice(i, i + WORDS_PER_BLOCK).join('\n'))
  if (blocks.length < MIN_BLOCKS_INDEXED) return { blocks, grams: new Map() }
  const held = blocks.map(block => new Map(linesIn(block).flatMap(({ word }) => gramsIn(word).map(gram => [gram, 1]))))
  return { blocks, grams: postingsOf(held) }
}

/** All distinct runs of three characters in a text. */
export function gramsIn(text: string): string[] {
  return [...new Set(Array.from({ length: text.length - GRAM + 1 }, (_, i) => text.slice(i, i + GRAM)))]
}

export function blocksInAll(lists: readonly Uint8Array[]): number[] {
  const counts = new Map<number, number>()
  for (const list of lists) eachPosting(list, block => counts.set(block, (counts.get(block) ?? 0) + 1))
  return [...counts].filter(([, count]) => count === lists.length).map(([block]) => block)
}

/** The terms of the words in a block that contain a text. */
export function termsHolding(block: string, text: string): string[] {
  return linesIn(block)
    .filter(({ word }) => word.includes(text))
    .map(({ term }) => term)
}

function linesIn(block: string): { word: string; term: string }[] {
  return block.split('\n').map(line => {
    const [word = '', term = word] = line.split(' ')
    return { word, term }
  })
}
