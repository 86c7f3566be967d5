/**
 * Identifiers: names of at least 8 characters that the agent writes, that a tool has shown, and that neither the user
 * nor the agent has written before. If a view still shows one, the agent could have taken it from there.
 */

import type { Message } from '../src/model/types.ts'
import { type Evidence, gather, writtenTexts } from '../src/replay/measure/evidence.ts'

const IDENTIFIER = /[A-Za-z_$][\w$]{7,}/g
/** A made-up name and not a word: it has an underscore, a digit or a capital inside. */
const MADE = /[a-z][A-Z]|[_$\d]/
const MOST_SOURCES = 12

export function findIdentifiers(messages: readonly Message[]): Evidence {
  const heard = new Set<string>()
  const holders = new Map<string, number[]>()
  let sources = 0
  const names = (text: string) => new Set((text.match(IDENTIFIER) ?? []).filter(name => MADE.test(name)))
  return gather(messages, {
    normalize: text => text,
    hear: text => {
      for (const name of names(text)) heard.add(name)
    },
    learn: ({ text }) => {
      const number = sources++
      for (const name of names(text)) {
        const known = holders.get(name) ?? []
        if (known.length < MOST_SOURCES) known.push(number)
        else known[MOST_SOURCES - 1] = number
        holders.set(name, known)
      }
    },
    collect: message => {
      const written = new Set(writtenTexts(message).flatMap(text => [...names(text)]))
      return [...written].flatMap(name => {
        const known = holders.get(name)
        return known && !heard.has(name) ? [{ text: name, sources: [...known] }] : []
      })
    },
  })
}
