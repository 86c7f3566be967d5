/**
 * The searched documents: each part of an entry in pieces of about 1,200 characters, cut at line ends.
 *
 * A piece of a tool result also includes the name and the short arguments of its call, so that "what did X print" finds
 * it. The kind of part, the tool and the path of a piece are separate terms that differ from every word, so a filter is
 * one more list to read.
 */

import { leavesOf, stringsIn, textOf } from '../model/leaves.ts'
import { characterStart } from '../model/text.ts'
import type { Message, Part, ToolCallPart } from '../model/types.ts'
import { compoundsIn, compoundTerms, countTerms, countWords, linesFor } from './words.ts'

/** A piece of a part: characters `from` to `to` of the part's text. */
export type Document = {
  part: number
  from: number
  to: number
  /** Terms with their number of occurrences; filters count once. */
  terms: Map<string, number>
  /** Its words in the form that the segment stores (inside.ts). */
  words: ReadonlySet<string>
  /** The number of words, for the ranking. */
  length: number
  /** A hash of the text: equal for equal texts. */
  print: number
}

type FindCall = (id: string) => ToolCallPart | undefined

const PIECE_CHARS = 1200
/** A piece ends at a line end, if there is one after this many characters. */
const MIN_PIECE_CHARS = 600
/** Arguments longer than this are contents, not a description of the call. */
const MAX_ARGUMENT_CHARS = 400
const PATH = /^[^\s'"<>|*?]{1,300}$/

export function documentsOf({ role, parts }: Message, findCall: FindCall): Document[] {
  return parts.flatMap((part, index) => {
    const text = textOf(part)
    if (text.trim() === '' && part.type !== 'tool-call') return []
    const call = part.type === 'tool-result' ? findCall(part.id) : part.type === 'tool-call' ? part : undefined
    const heading =
      part.type === 'tool-result' ? headingOf(part.name, call) : part.type === 'tool-call' ? part.name : ''
    const filters = filtersOf(role, part, call)
    return piecesOf(text).map(([from, to]) => {
      const piece = text.slice(from, to)
      const words = countWords(piece)
      const terms = countTerms(piece, new Map(), words)
      if (heading !== '') countTerms(heading, terms)
      let length = 0
      for (const count of terms.values()) length += count
      for (const filter of filters) terms.set(filter, 1)
      const lines = linesFor(words.keys())
      return { part: index, from, to, terms, words: lines, length, print: printOf(`${heading}\n${piece}`) }
    })
  })
}

/** The term by which documents of a kind are found: `type:tool-result`, `role:user`, `tool:bash`, `path:a/b.ts`. */
export function filterTerm(name: 'type' | 'role' | 'tool' | 'path', value: string): string {
  return `\u0001${name}:${value.toLowerCase()}`
}

function headingOf(name: string, call: ToolCallPart | undefined): string {
  if (!call) return name
  return [name, ...stringsIn(call.input).filter(text => text.length <= MAX_ARGUMENT_CHARS)].join('\n')
}

function filtersOf(role: Message['role'], part: Part, call: ToolCallPart | undefined): string[] {
  const filters = [filterTerm('type', part.type), filterTerm('role', role)]
  if ('name' in part) filters.push(filterTerm('tool', part.name))
  for (const path of call ? pathsIn(call) : []) filters.push(filterTerm('path', path))
  return filters
}

/** Every ending of every path that a call names, so that "b.ts" and "a/b.ts" find "/home/a/b.ts". */
function pathsIn(call: ToolCallPart): Set<string> {
  const paths = new Set<string>()
  for (const text of leavesOf(call)) {
    if (text.length > MAX_ARGUMENT_CHARS) continue
    if (PATH.test(text)) paths.add(plainPath(text))
    for (const compound of compoundsIn(text)) for (const term of compoundTerms(compound)) paths.add(term)
  }
  return paths
}

/** A path with forward slashes, and without `./` or `/` in front. */
export function plainPath(path: string): string {
  return path.replace(/\\/g, '/').replace(/^(\.?\/)+/, '')
}

function piecesOf(text: string): [from: number, to: number][] {
  const pieces: [number, number][] = []
  for (let from = 0; from < text.length || pieces.length === 0; ) {
    const to = endOf(text, from)
    pieces.push([from, to])
    if (to <= from) break
    from = to
  }
  return pieces
}

function endOf(text: string, from: number): number {
  if (text.length - from <= PIECE_CHARS) return text.length
  const least = from + MIN_PIECE_CHARS
  const end = text.slice(least, from + PIECE_CHARS)
  const at = end.includes('\n') ? end.lastIndexOf('\n') : end.lastIndexOf(' ')
  if (at >= 0) return least + at + 1
  return characterStart(text, from + PIECE_CHARS)
}

/** A 32-bit FNV-1a hash of the text, with each run of white space as one. */
function printOf(text: string): number {
  let print = 0x811c9dc5
  for (let i = 0, space = false; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code <= 32) {
      space = true
      continue
    }
    if (space) print = Math.imul(print ^ 32, 0x01000193)
    space = false
    print = Math.imul(print ^ code, 0x01000193)
  }
  return print >>> 0
}
