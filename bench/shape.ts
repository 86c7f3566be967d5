/**
 * The shape of sessions: what a model call adds to the context, and from which source. `node bench/shape.ts DIR` prints
 * a row for each agent with transcripts in the folder, one for all of them, and one for the sessions that
 * long-session.ts generates; then the same for each kind of tool. The generator was set by these numbers, and you can
 * compare it with your own sessions.
 *
 * Tokens are o200k, per call; a call is an assistant message. `skeleton` is what is left when all results are cleared.
 * Requests, client notes in the user's name, and pauses of more than five minutes are per hundred calls.
 */

import { describeCall } from '../src/calls/tool-kinds.ts'
import { textOf } from '../src/model/leaves.ts'
import { loadCounter, partTokens } from '../src/model/tokens.ts'
import type { Message, ToolKind } from '../src/model/types.ts'
import { longSession } from './long-session.ts'
import { loadSessions } from './recorded.ts'

type Use = { kind: Kind; input: number; result: number }
type Kind = 'read' | 'edit' | 'write' | 'search' | 'run' | 'other'
type Shape = {
  sessions: number
  calls: number
  text: number
  reasoning: number
  uses: Use[]
  /** Behind the first answer: tokens of each request, and of each note that a client wrote in the user's name. */
  requests: number[]
  notes: number[]
  /** Calls that were made more than five minutes after the previous one. */
  pauses: number
}

const KINDS: Partial<Record<ToolKind, Kind>> = {
  read: 'read',
  'shell-read': 'read',
  edit: 'edit',
  write: 'write',
  search: 'search',
  list: 'search',
  'shell-search': 'search',
  shell: 'run',
}
const PAUSE = 300_000
/** Clients put tags and labels around their notes. */
const NOTE = /^\s*(?:<[a-z]|\[[a-z ]+[:\]])/i
const GENERATED = 1600

const count = await loadCounter()
const folder = process.argv[2]
const groups = new Map<string, Shape>()
for (const { format, messages } of folder === undefined ? [] : await loadSessions(folder)) {
  for (const name of [format, 'all']) {
    const shape = groups.get(name) ?? emptyShape()
    groups.set(name, shape)
    addSession(shape, messages)
  }
}
const generated = emptyShape()
addSession(generated, longSession(GENERATED))
const rows = [...groups].sort(([a], [b]) => Number(a === 'all') - Number(b === 'all'))
rows.push(['generated', generated])
console.table(Object.fromEntries(rows.map(([name, shape]) => [name, rowOf(shape)])))
for (const [name, shape] of rows.slice(-2)) {
  console.log(`\n${name}, by what a tool call does`)
  const kinds = Object.entries(Object.groupBy(shape.uses, ({ kind }) => kind))
  kinds.sort(([, a], [, b]) => b.length - a.length)
  console.table(Object.fromEntries(kinds.map(([kind, uses]) => [kind, kindRow(uses, shape.uses.length)])))
}

function emptyShape(): Shape {
  return { sessions: 0, calls: 0, text: 0, reasoning: 0, uses: [], requests: [], notes: [], pauses: 0 }
}

function addSession(shape: Shape, messages: readonly Message[]): void {
  const open = new Map<string, Use>()
  const before = shape.calls
  let last: number | undefined
  shape.sessions++
  for (const { role, parts, at } of messages) {
    if (role === 'assistant') shape.calls++
    if (role === 'user' && shape.calls > before) {
      const isNote = parts.every(part => NOTE.test(textOf(part)))
      shape[isNote ? 'notes' : 'requests'].push(parts.reduce((sum, part) => sum + partTokens(part, count), 0))
    }
    if (role !== 'assistant' && at && last !== undefined && at - last > PAUSE) shape.pauses++
    if (at) last = at
    for (const part of parts) {
      const tokens = partTokens(part, count)
      if (part.type === 'tool-call') {
        const kind = KINDS[describeCall(part.name, part.input).kind] ?? 'other'
        const use: Use = { kind, input: tokens, result: 0 }
        open.set(part.id, use)
        shape.uses.push(use)
      } else if (part.type === 'tool-result') {
        const use = open.get(part.id)
        if (use) use.result += tokens
      } else if (role === 'assistant') shape[part.type === 'reasoning' ? 'reasoning' : 'text'] += tokens
    }
  }
}

function rowOf({ sessions, calls, text, reasoning, uses, requests, notes, pauses }: Shape) {
  const inputs = sum(uses.map(use => use.input))
  const results = sum(uses.map(use => use.result))
  const each = (total: number) => Math.round(total / calls)
  const inHundred = (times: number) => Number(((times / calls) * 100).toFixed(1))
  return {
    sessions,
    calls,
    'tools a call': Number((uses.length / calls).toFixed(2)),
    text: each(text),
    inputs: each(inputs),
    skeleton: each(text + inputs),
    reasoning: each(reasoning),
    results: each(results),
    requests: inHundred(requests.length),
    'tokens 50 %': quantile(requests, 0.5),
    '90 %': quantile(requests, 0.9),
    notes: inHundred(notes.length),
    pauses: inHundred(pauses),
  }
}

function kindRow(uses: readonly Use[], total: number) {
  const inputs = uses.map(use => use.input)
  const results = uses.map(use => use.result)
  return {
    share: Number((uses.length / total).toFixed(2)),
    input: Math.round(sum(inputs) / uses.length),
    'input 50 %': quantile(inputs, 0.5),
    '90 %': quantile(inputs, 0.9),
    result: Math.round(sum(results) / uses.length),
    'result 50 %': quantile(results, 0.5),
    '90 % ': quantile(results, 0.9),
    '99 %': quantile(results, 0.99),
  }
}

function quantile(list: readonly number[], share: number): number {
  return list.toSorted((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * share))] ?? 0
}

function sum(list: readonly number[]): number {
  return list.reduce((total, value) => total + value, 0)
}
