/**
 * File versions: when an agent edits a file, are the lines of the version that it knows still in view? That version is
 * what it last read or wrote of the file, with its own edits since. Every third line of sufficient length is searched
 * in all results and inputs, so a pointer to a copy that is in view costs nothing.
 */

import { type CallInfo, describeCall } from '../src/calls/tool-kinds.ts'
import type { Message } from '../src/model/types.ts'
import { type Evidence, gather, type Quote, type Source, withoutLayout } from '../src/replay/measure/evidence.ts'

/** Shorter lines occur in any file. */
const LEAST = 12
const EVERY = 3
/** Copies of a line that are remembered, the newest. */
const COPIES = 12

export function findFileVersions(messages: readonly Message[]): Evidence {
  const shelf = new Shelf()
  return gather(messages, {
    normalize: withoutLayout,
    hear: () => undefined,
    learn: source => shelf.learn(source),
    collect: ({ parts }) =>
      parts.flatMap(part => {
        if (part.type !== 'tool-call') return []
        const { kind, path, how } = describeCall(part.name, part.input)
        return kind === 'edit' && path !== undefined && how === undefined ? shelf.version(path) : []
      }),
  })
}

class Shelf {
  readonly #files = new Map<string, Set<string>>()
  readonly #copies = new Map<string, number[]>()
  readonly #calls = new Map<string, CallInfo>()
  #sources = 0

  learn({ part, text }: Source): void {
    const number = this.#sources++
    if (part.type === 'tool-call') {
      const call = describeCall(part.name, part.input)
      this.#calls.set(part.id, call)
      this.#write(call, number)
      return
    }
    const call = this.#calls.get(part.id)
    const { kind, path, range, query } = call ?? {}
    if ((kind !== 'read' && kind !== 'shell-read') || path === undefined || query !== undefined) return
    const lines = typeof part.output === 'string' ? linesOf(part.output) : linesOf(text)
    if (!range) this.#files.delete(path)
    this.#add(path, lines, number)
  }

  version(path: string): Quote[] {
    const lines = [...(this.#files.get(path) ?? [])].filter((_, i) => i % EVERY === 0)
    return lines.map(text => ({ text, sources: this.#copies.get(text) ?? [] }))
  }

  #write({ kind, path, content, edits = [], patch }: CallInfo, number: number): void {
    if (path === undefined || (kind !== 'edit' && kind !== 'write')) return
    const known = this.#files.get(path)
    const gone = [...edits.flatMap(({ oldText }) => linesOf(oldText)), ...signed(patch, '-')]
    for (const line of gone) known?.delete(line)
    if (kind === 'write') this.#files.delete(path)
    const made = [content ?? '', ...edits.map(({ newText }) => newText)].flatMap(linesOf)
    this.#add(path, [...made, ...signed(patch, '+')], number)
  }

  #add(path: string, lines: readonly string[], number: number): void {
    const known = this.#files.get(path) ?? new Set()
    this.#files.set(path, known)
    for (const line of lines) {
      known.add(line)
      const copies = this.#copies.get(line) ?? []
      this.#copies.set(line, [...copies.slice(1 - COPIES), number])
    }
  }
}

function signed(patch: string | undefined, sign: '+' | '-'): string[] {
  const lines = (patch ?? '').split('\n').filter(line => line.startsWith(sign))
  return linesOf(lines.map(line => line.slice(1)).join('\n'))
}

/** Each line as the whole text has it once layout is gone. */
function linesOf(text: string): string[] {
  const lines = text.split('\n').map(withoutLayout)
  return lines.filter(line => line.length >= LEAST)
}
