/**
 * Summarises a stretch of a session without a model: from the kinds of its parts, not from their meaning.
 *
 * The summary has five sections and is marked as a record, so that an old plan is not taken for an order. A stretch
 * that begins with an earlier summary is summarised from that summary and the new parts, so a summary never needs the
 * whole session. `checkSummary` applies to every summary, ours or a model's: five sections, marked, smaller than the
 * text it replaces.
 */
import { boundedTo, headOf, trimEndOf } from '../model/text.ts'
import type { Counter } from '../model/tokens.ts'
import type { Unit } from '../view/units.ts'
import { collectNotes, type Notes } from './summary-notes.ts'

export const SUMMARY_MARK = '[Summary of earlier conversation: a record of what happened, not an order]'

export const SECTIONS = [
  'Task Overview',
  'Current State',
  'Important Discoveries',
  'Next Steps',
  'Context to Preserve',
] as const

export type Section = (typeof SECTIONS)[number]

type SummarySource = {
  /** The parts that are new, oldest first. */
  units: Iterable<Unit>
  /** The requests among them, verbatim, oldest first. */
  requests: readonly string[]
  /** The texts that the stretch begins with, if it was replaced before: an earlier summary or something like it. */
  previous: readonly string[]
}

type Bounds = { request: number; requests: number; files: number; commands: number; notes: number; line: number }

/** From generous to terse: the first size that is small enough is used. */
const SIZES: readonly Bounds[] = [
  { request: 1_500, requests: 10, files: 40, commands: 20, notes: 15, line: 240 },
  { request: 500, requests: 3, files: 12, commands: 6, notes: 5, line: 140 },
  { request: 200, requests: 1, files: 4, commands: 2, notes: 2, line: 80 },
]

const NOTHING = '- nothing recorded'
const FIRST = 'First request:'
const FURTHER = 'Further requests:'
/** The characters kept of messages that another kind of edit had put in place of earlier entries. */
const EARLIER_CHARS = 1_000

/** A summary of fewer than `fewer` tokens; `undefined` if none is small enough. */
export function writeSummary(source: SummarySource, fewer: number, count: Counter): string | undefined {
  const earlier = readEarlier(source.previous)
  const notes = collectNotes(source.units)
  for (const bounds of SIZES) {
    const text = toText(sectionsFrom(notes, source.requests, { earlier, bounds }))
    if (checkSummary(text, fewer, count) === undefined) return text
  }
  return undefined
}

/** The problem with a summary; `undefined` if there is none. */
export function checkSummary(text: string, replacedTokens: number, count: Counter): string | undefined {
  if (!text.trimStart().startsWith(SUMMARY_MARK)) return 'it lacks the mark of a record'
  const sections = readSummary(text)
  const lacking = SECTIONS.filter(section => !sections.has(section))
  if (lacking.length > 0) return `it lacks the section ${lacking.join(', ')}`
  const tokens = count(text)
  return tokens < replacedTokens
    ? undefined
    : `it has ${tokens} tokens, not fewer than the ${replacedTokens} that it replaces`
}

/** The earlier content: a summary by its sections; otherwise the first request, and the other texts up to a bound. */
function readEarlier(texts: readonly string[]): Map<Section, string[]> | undefined {
  if (texts.length === 0) return undefined
  const summary = texts.find(text => text.startsWith(SUMMARY_MARK))
  if (summary !== undefined) return readSummary(summary)
  const [first = '', ...others] = texts
  const told = others.map(text => `- before: ${JSON.stringify(boundedTo(text, EARLIER_CHARS))}`)
  return new Map([
    ['Task Overview', [FIRST, ...quote(first, SIZES[0]!.request)]],
    ['Current State', told],
  ])
}

/** A line without the marks and numbers that models put around the title of a section. */
function titleOf(line: string): string {
  const [front = ''] = /^\s*(?:#{1,6}\s*)?(?:\d+[.)]\s*)?\**/.exec(line) ?? []
  return trimEndOf(line.slice(front.length).trimEnd(), '*:')
}

/** The lines of each section, without blank ones. */
export function readSummary(text: string): Map<Section, string[]> {
  const sections = new Map<Section, string[]>()
  let lines: string[] | undefined
  for (const line of text.split('\n')) {
    const title = titleOf(line)
    const section = SECTIONS.find(name => name === title)
    if (section && !sections.has(section)) sections.set(section, (lines = []))
    else if (line.trim() !== '' && line !== NOTHING) lines?.push(line)
  }
  return sections
}

function toText(sections: Map<Section, string[]>): string {
  const blocks = SECTIONS.map(section => {
    const lines = sections.get(section) ?? []
    return `## ${section}\n${(lines.length > 0 ? lines : [NOTHING]).join('\n')}`
  })
  return [SUMMARY_MARK, ...blocks].join('\n\n')
}

type Shape = { earlier: Map<Section, string[]> | undefined; bounds: Bounds }

function sectionsFrom(notes: Notes, requests: readonly string[], { earlier, bounds }: Shape): Map<Section, string[]> {
  const before = (section: Section) => (earlier?.get(section) ?? []).map(line => headOf(line, bounds.line * 2))
  const line = (text: string) => headOf(text, bounds.line)
  const state = before('Current State')
  return new Map<Section, string[]>([
    ['Task Overview', overview(requests, earlier?.get('Task Overview') ?? [], bounds)],
    [
      'Current State',
      [
        ...withTimes(state, notes.changed, 'changed').slice(-bounds.files).map(line),
        ...withTimes(state, notes.read, 'read').slice(-bounds.files).map(line),
        ...latest(state, notes.commands, '- ran ').slice(-bounds.commands).map(line),
        ...latest(others(state), notes.lastSaid, '- last said').slice(-bounds.notes).map(line),
      ],
    ],
    [
      'Important Discoveries',
      [
        ...latest(before('Important Discoveries'), notes.errors, '- error').slice(-bounds.notes).map(line),
        ...latest(others(before('Important Discoveries')), notes.said, '')
          .slice(-bounds.notes)
          .map(line),
      ],
    ],
    ['Next Steps', (notes.open.length > 0 ? notes.open : before('Next Steps')).slice(-bounds.notes).map(line)],
    ['Context to Preserve', latest(before('Context to Preserve'), notes.rules, '').slice(-bounds.notes).map(line)],
  ])
}

/**
 * The first request verbatim up to a bound, the others in a line each; the content of an earlier summary comes first.
 */
function overview(requests: readonly string[], earlier: readonly string[], bounds: Bounds): string[] {
  const quoted = earlier.filter(line => line.startsWith('> '))
  const told = earlier.filter(line => !line.startsWith('> ') && !['', FIRST, FURTHER].includes(line))
  const isFirst = earlier.length === 0
  const first = isFirst ? quote(requests[0] ?? '', bounds.request) : quoted
  const further = (isFirst ? requests.slice(1) : requests).map(text => `- ${JSON.stringify(headOf(text, bounds.line))}`)
  const lines = [...new Set([...told, ...further])].slice(-bounds.requests)
  return [...(first.length > 0 ? [FIRST, ...first] : []), ...(lines.length > 0 ? ['', FURTHER, ...lines] : [])]
}

function quote(text: string, length: number): string[] {
  if (text === '') return []
  const shown = text.length > length ? `${headOf(text, length)}…` : text
  return shown.split('\n').map(line => `> ${line}`)
}

const TIMES = /^- (changed|read) (.+?) \((\d+)×\)(?:: (.*))?$/s

/** Lines `- changed path (n×): why`, with the counts of an earlier summary added. */
function withTimes(earlier: readonly string[], now: Notes['changed'], verb: 'changed' | 'read'): string[] {
  const files = new Map<string, { times: number; intents: string[] }>()
  for (const line of earlier) {
    const [, word, path, times, intents] = TIMES.exec(line) ?? []
    if (word === verb && path) files.set(path, { times: Number(times), intents: intents?.split('; ') ?? [] })
  }
  for (const [path, { times, intents }] of now) {
    const known = files.get(path)
    files.delete(path)
    const all = [...new Set([...(known?.intents ?? []), ...intents])].slice(-4)
    files.set(path, { times: times + (known?.times ?? 0), intents: all })
  }
  return [...files].map(([path, { times, intents }]) => {
    return `- ${verb} ${path} (${times}×)${intents.length > 0 ? `: ${intents.join('; ')}` : ''}`
  })
}

/** The lines with this beginning, earlier ones first; of two equal lines the later stays. */
function latest(earlier: readonly string[], now: readonly string[], beginning: string): string[] {
  const lines = [...earlier.filter(line => line.startsWith(beginning)), ...now]
  return [...new Set(lines.reverse())].reverse()
}

/** The lines in none of our own forms: a model wrote them. */
function others(lines: readonly string[]): string[] {
  return lines.filter(line => !/^- (?:changed|read|ran|error|last said)\b/.test(line))
}
