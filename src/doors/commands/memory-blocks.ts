/** `memory list | search | show | set | delete | history | restore | export | import`. */

import { reveal } from '../../memory/diff.ts'
import { exportMemory, importMemory, readMemoryDocument } from '../../memory/exchange.ts'
import { describeStale, staleFacts, utcDayOf } from '../../memory/facts.ts'
import { allBlocks } from '../../memory/store.ts'
import { PalimpsestError } from '../../model/errors.ts'
import { amount, endingLine, withCommas } from '../../model/text.ts'
import { jsonIn, numberOption, type Report, readInput } from '../terminal/command.ts'
import { oneLine, printable, table, timeOf } from '../terminal/output.ts'
import { type Action, type Desk, givenBody } from './memory-desk.ts'

export const blockActions: readonly (readonly [string, Action])[] = [
  ['list', { usage: 'list', takes: [0, 0], run: list }],
  ['search', { usage: 'search QUERY...', takes: [1, 100], run: search }],
  ['show', { usage: 'show LABEL', takes: [1, 1], run: show }],
  ['set', { usage: 'set LABEL --body TEXT', writes: true, takes: [1, 1], run: set }],
  ['delete', { usage: 'delete LABEL', takes: [1, 1], run: remove }],
  ['history', { usage: 'history LABEL', takes: [1, 1], run: history }],
  ['restore', { usage: 'restore LABEL VERSION', takes: [2, 2], run: restore }],
  ['export', { usage: 'export', takes: [0, 0], run: exportAll }],
  ['import', { usage: 'import FILE', writes: true, takes: [1, 1], run: importAll }],
]

async function list({ memory, user }: Desk): Promise<Report> {
  const blocks = await allBlocks(memory.store, user)
  return {
    json: { user, blocks },
    text: paint => {
      const rows = blocks.map(({ label, title, body, updatedAt }) => {
        return [printable(label), oneLine(title, 40), withCommas(body.length), timeOf(updatedAt)]
      })
      return table(['*LABEL', 'TITLE', '>CHARS', 'UPDATED'], rows, paint)
    },
    notes: blocks.length === 0 ? [`${user} has no memory blocks.`] : [],
  }
}

async function search({ memory, user, context }: Desk, words: readonly string[]): Promise<Report> {
  const query = words.join(' ')
  const hits = await memory.search(user, query, { limit: numberOption(context.values.limit, '--limit') ?? 20 })
  return {
    json: { user, query, hits },
    *text(paint) {
      for (const { label, title, snippet } of hits) {
        yield `${paint.bold(printable(label))}  ${printable(title)}`
        yield `  ${oneLine(reveal(snippet), 160)}`
      }
    },
    notes: hits.length === 0 ? ['Nothing was found.'] : [],
  }
}

async function show({ memory, user, context }: Desk, [label = '']: readonly string[]): Promise<Report> {
  const { at: version } = context.values
  if (version !== undefined) {
    const found = await memory.version(user, label, version)
    return { json: found, text: () => endingLine(printable(reveal(found.content?.body ?? ''))) }
  }
  const block = await memory.block(user, label)
  if (!block) throw new PalimpsestError('BLOCK_NOT_FOUND', `Memory block '${label}' not found.`, { label })
  const stale = staleFacts(block.body, utcDayOf(Date.now()))
  return {
    json: { ...block, stale },
    text: () => endingLine(printable(reveal(block.body))),
    notes: stale.map(fact => `${describeStale(fact)}: ${oneLine(fact.text, 100)}`),
  }
}

async function set({ memory, user, by, context }: Desk, [label = '']: readonly string[]): Promise<Report> {
  const { title, schema } = context.values
  const body = await givenBody(context)
  if (body === undefined && title === undefined && schema === undefined) {
    throw new PalimpsestError('INVALID_INPUT', 'Use --body, --file, --title or --schema.')
  }
  const block = await memory.set(user, label, {
    by,
    why: context.values.why,
    body,
    title,
    schemaRef: schema === '' ? null : schema,
  })
  return { json: block, text: () => `${printable(label)} is at version ${block.version}\n` }
}

async function remove({ memory, user, by, context }: Desk, [label = '']: readonly string[]): Promise<Report> {
  await memory.remove(user, label, { by, why: context.values.why })
  return { json: { user, label, deleted: true }, text: () => `${printable(label)} was deleted; its history is kept\n` }
}

async function history({ memory, user, context }: Desk, [label = '']: readonly string[]): Promise<Report> {
  const limit = numberOption(context.values.limit, '--limit') ?? 50
  const versions = await memory.history(user, label, { limit })
  return {
    json: { user, label, versions },
    text: paint => {
      const rows = versions.map(({ id, at, action, by, why, proposal }) => {
        const reason = why || (proposal ? `proposal ${proposal}` : '')
        return [id, timeOf(at), action, printable(by), oneLine(reason, 60)]
      })
      return table(['*VERSION', 'WHEN', 'ACTION', 'BY', 'WHY'], rows, paint)
    },
    notes: versions.length === 0 ? [`Block '${label}' has no history.`] : [],
  }
}

async function restore(
  { memory, user, by, context }: Desk,
  [label = '', version = '']: readonly string[],
): Promise<Report> {
  const block = await memory.restore(user, label, version, { by, why: context.values.why })
  return {
    json: block,
    text: () => `${printable(label)} was restored from version ${version}, as version ${block.version}\n`,
  }
}

async function exportAll({ memory, user, context }: Desk): Promise<Report> {
  const document = await exportMemory(memory, context.values.all ? undefined : user)
  return { json: document, text: () => `${JSON.stringify(document, null, 2)}\n` }
}

async function importAll({ memory, user, by, context }: Desk, [path = '']: readonly string[]): Promise<Report> {
  const { values, io } = context
  const document = readMemoryDocument(jsonIn(await readInput(path, io), path), values.all ? undefined : user)
  const done = await importMemory(memory, document, values.all ? `admin:${user}` : by)
  return {
    json: done,
    text: () =>
      `${amount(done.blocks, 'block')} written, ${withCommas(done.same)} unchanged, ${amount(done.proposals, 'proposal')}\n`,
    notes: done.refused.map(line => `Not proposed: ${printable(line)}`),
  }
}
