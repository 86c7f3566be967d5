/**
 * `context`: lists the parts in view by cost, prices removing some, and removes them. `statusline`: the same in one
 * line.
 */
import { PalimpsestError } from '../../model/errors.ts'
import { amount, asDollars, withCommas } from '../../model/text.ts'
import type { Palimpsest } from '../../session/engine.ts'
import type { EditPrice, Moment } from '../../view/figures.ts'
import { defineCommand, numberOption, type Report, readInput } from '../terminal/command.ts'
import { oneLine, type Paint, printable, table } from '../terminal/output.ts'
import { programName } from '../terminal/program.ts'

const ROWS = 20

export const context = defineCommand({
  name: 'context',
  summary: 'list what fills the context window by cost, and remove parts of it',
  usage: 'SESSION [ID...]',
  details: [
    'Without ids: the parts in view, largest first, with the cost of each per call and how often similar parts were',
    'quoted later in recorded sessions. With ids: the one-time cost of removing them and the saving per call; --yes',
    'removes them, and --undo brings them back at any later turn. If SESSION was continued in another one (claude-….2 after a',
    "compaction), the newest is used. The originals are kept, and so is the agent's own copy.",
  ].join('\n'),
  examples: [
    'palimpsest context fix-login',
    'palimpsest context fix-login 5f0c2a91 77be01c4',
    'palimpsest context fix-login 5f0c2a91 --yes',
    'palimpsest context fix-login --undo',
    'palimpsest context fix-login --dropped',
  ],
  options: {
    yes: { type: 'boolean', short: 'y', about: 'remove the parts' },
    undo: { type: 'boolean', about: 'undo the edits with these ids, or the last edit if there are none' },
    dropped: { type: 'boolean', about: "list what the agent's own compaction removed; with ids: bring that back" },
    rows: { type: 'string', value: 'N', about: `how many parts to list (${ROWS})` },
  },
  async run({ args: [name = '', ...ids], values, open, io }) {
    const pal = await open()
    if (values.undo) return undoEdits(pal, name, ids)
    if (values.dropped) return reportDropped(pal, name, { ids, program: programName(io.env) })
    const { liveSession, timelineOf } = await import('../../session/live-context.ts')
    const { momentOf, priceOf } = await import('../../session/moment.ts')
    const { id } = await liveSession(pal, name)
    const session = await pal.session(id, { mustExist: true, asGuest: true })
    const timeline = await timelineOf(session)
    const moment = momentOf(timeline, Date.now())
    if (ids.length === 0) {
      const rows = numberOption(values.rows, '--rows') ?? ROWS
      return { json: { session: id, ...moment }, text: paint => momentLines(id, moment, { rows, paint }) }
    }
    const price = priceOf(timeline, ids, Date.now())
    if (!values.yes) return { json: { session: id, price, edits: [] }, text: () => priceLines(id, price, moment) }
    const { edits } = await session.edit(
      ids.map(one => ({ discard: one })),
      'user',
    )
    return {
      json: { session: id, price, edits },
      *text() {
        yield* priceLines(id, price, moment)
        yield `Removed. Undo at any later turn: ${programName(io.env)} context ${id} --undo ${edits.map(edit => edit.id).join(' ')}`
      },
    }
  },
})

async function undoEdits(pal: Palimpsest, name: string, ids: readonly string[]): Promise<Report> {
  const { liveSession } = await import('../../session/live-context.ts')
  const { id } = await liveSession(pal, name)
  const session = await pal.session(id, { mustExist: true })
  const last = session.edits().findLast(({ active }) => active)?.edit.id
  const undone = ids.length > 0 ? ids : last === undefined ? [] : [last]
  if (undone.length === 0) throw new PalimpsestError('EDIT_NOT_FOUND', `No edit is in force in ${id}.`, { session: id })
  for (const edit of undone) await session.undo(edit)
  const { tokens } = await session.view({ plan: false })
  return {
    json: { session: id, undone, tokens },
    text: () => `Undone: ${undone.join(', ')}. ${amount(tokens, 'token')} in view.\n`,
  }
}

type Dropping = { ids: readonly string[]; program: string }

async function reportDropped(pal: Palimpsest, name: string, { ids, program }: Dropping): Promise<Report> {
  const { droppedFrom, putBack } = await import('../../session/dropped.ts')
  const { liveSession } = await import('../../session/live-context.ts')
  const info = await liveSession(pal, name)
  if (ids.length > 0) {
    const edits = await putBack(pal, info, ids, { by: 'user' })
    const undo = `${program} context ${info.id} --undo ${edits.map(({ id }) => id).join(' ')}`
    return { json: { session: info.id, edits }, text: () => `Brought back. Remove it again: ${undo}\n` }
  }
  const { before, parts } = await droppedFrom(pal, info)
  return {
    json: { session: info.id, before, parts },
    *text(paint) {
      yield `${amount(parts.length, 'part')} of ${printable(before)} are no longer in ${printable(info.id)}:`
      const rows = parts.map(({ id, kind, tokens, preview }) => {
        return [id, kind, withCommas(tokens), oneLine(printable(preview), 60)]
      })
      yield* table(['ID', 'WHAT', '>TOKENS', 'BEGINS'], rows, paint)
    },
  }
}

function* momentLines(id: string, moment: Moment, { rows, paint }: { rows: number; paint: Paint }): Generator<string> {
  const { tokens, window, isCold, nextUsd, parts, free } = moment
  const share = Math.round((100 * tokens) / window)
  yield `${paint.bold(printable(id))}: ${withCommas(tokens)} of ${withCommas(window)} tokens (${share} %), the next call ${asDollars(nextUsd)}`
  if (isCold)
    yield paint.yellow('The cache is cold: the next call writes the whole prompt again, so edits are free now.')
  if (isCold && free.length > 0) yield `Rarely quoted later: ${free.join(' ')}`
  yield ''
  const listed = parts
    .slice(0, rows)
    .map(part => [
      part.id,
      part.tool ?? part.kind,
      withCommas(part.tokens),
      asDollars(part.perCallUsd),
      part.quotes === null ? '' : part.quotes.toFixed(2),
      oneLine(printable(part.preview), 50),
    ])
  yield* table(['ID', 'WHAT', '>TOKENS', '>A CALL', '>QUOTED LATER', 'BEGINS'], listed, paint)
  if (parts.length > rows) yield paint.dim(`… and ${parts.length - rows} smaller ones`)
}

function* priceLines(id: string, price: EditPrice, { isCold }: Moment): Generator<string> {
  const { tokens, perCallUsd, rewritten, onceUsd, paysAfter, quotes } = price
  yield `Removing ${amount(price.ids.length, 'part')} of ${printable(id)} saves ${amount(tokens, 'token')} and ${asDollars(perCallUsd)} with every call.`
  if (isCold) yield 'The cache is cold, so removing them costs nothing now.'
  else if (paysAfter === null)
    yield `${amount(rewritten, 'token')} must be written again (${asDollars(onceUsd)}); this never pays off.`
  else {
    yield `${amount(rewritten, 'token')} after them must be written again, ${asDollars(onceUsd)} once; this pays off after ${amount(paysAfter, 'call')}.`
  }
  yield `Similar parts of this age were quoted ${quotes.toFixed(2)} times on average in recorded sessions.`
}

export const statusline = defineCommand({
  name: 'statusline',
  summary: "print one line about an agent's session (tokens, savings, cache) for the status line of Claude Code",
  usage: '[SESSION]',
  details:
    'Claude Code passes its session as JSON on stdin. The numbers come from the service, so this is fast; if the service does\n' +
    'not answer, the line says so. In its settings: "statusLine": { "type": "command", "command": "palimpsest statusline" }.',
  examples: ['palimpsest statusline < session.json', 'palimpsest statusline claude-5f0c2a91'],
  options: {
    url: { type: 'string', value: 'URL', about: 'the address of the service (the installed one)' },
    cold: {
      type: 'boolean',
      about: 'run as a hook of Claude Code: print a message to the user when the cache is cold',
    },
  },
  async run({ args: [name], values, io }) {
    const { sessionNamedIn, statusOf, statusText } = await import('./status-line.ts')
    const { readInstalled } = await import('./installed.ts')
    const url = values.url ?? io.env['PALIMPSEST_URL'] ?? (await readInstalled(io.env)).service?.url
    const status = await statusOf(url, name ?? sessionNamedIn(await readInput('-', io)))
    const json = typeof status === 'string' ? null : status
    if (!values.cold) return { json, text: () => `${statusText(status)}\n` }
    const message = json?.isCold ? `${JSON.stringify({ systemMessage: statusText(json) })}\n` : ''
    return { json, text: () => message }
  },
})
