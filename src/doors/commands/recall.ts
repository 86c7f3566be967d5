/** `recall` and `restore`: find texts that are no longer in view, and bring them back. */
import { resolve } from 'node:path'
import { PalimpsestError } from '../../model/errors.ts'
import { amount, minuteOf } from '../../model/text.ts'
import { narrowedBy, type RecallOptions, type SessionHit } from '../../session/recall.ts'
import type { Session } from '../../session/session.ts'
import { defineCommand, numberOption, type Report } from '../terminal/command.ts'
import { oneLine, printable } from '../terminal/output.ts'

export const recall = defineCommand({
  name: 'recall',
  summary: 'search everything that happened, in one session or in all',
  usage: '[QUERY...]',
  details:
    'The query is a question, a line, a name, a path or a command; any word may match. Each hit shows its time, whether\n' +
    'the model sees it now, and the size of its whole text. --around and --text show more of one hit of a session.',
  examples: [
    'palimpsest recall why did the timezone test fail',
    'palimpsest recall "cannot find module" --session fix-login --type tool-result',
    'palimpsest recall --session fix-login --around 5f0c2a91',
  ],
  options: {
    session: { type: 'string', short: 's', value: 'SESSION', about: 'only in this session' },
    project: { type: 'string', value: 'FOLDER', about: 'only sessions in this folder, such as . or my-app' },
    tag: { type: 'string', value: 'TAG', about: 'only sessions with this tag' },
    limit: { type: 'string', value: 'N', about: 'how many hits (20)' },
    type: {
      type: 'string',
      value: 'TYPES',
      about: 'text, reasoning, tool-call, tool-result, or user, assistant, tool',
    },
    tool: { type: 'string', value: 'TOOLS', about: 'only calls and results of these tools' },
    path: { type: 'string', value: 'PATHS', about: 'only calls on these files, and their results' },
    since: { type: 'string', value: 'TIME', about: 'only hits from this time on: 2026-05-18 or 2026-05-18T09:00Z' },
    until: { type: 'string', value: 'TIME', about: 'only hits up to this time' },
    around: { type: 'string', value: 'ID', about: 'show what surrounds this hit of --session' },
    text: { type: 'string', value: 'ID', about: 'show the whole text of this hit of --session' },
  },
  async run({ args, values, session, openIfThere }) {
    const id = values.around ?? values.text
    if (id !== undefined) {
      if (values.session === undefined)
        throw new PalimpsestError('INVALID_INPUT', 'Name the session of the hit with --session.')
      const own = await session(values.session)
      return values.around === undefined ? showText(own, id) : showAround(own, id)
    }
    const query = args.join(' ')
    if (query === '')
      throw new PalimpsestError('INVALID_INPUT', 'Give something to search for: palimpsest recall timezone')
    const options = { limit: numberOption(values.limit, '--limit') ?? 20, ...narrowedBy(values) }
    const { project, tag } = values
    const scope = { project: project && /^[./]/.test(project) ? resolve(project) : project, tag }
    const { hits, behind } =
      values.session === undefined
        ? ((await (await openIfThere())?.recall(query, { ...options, ...scope })) ?? { hits: [], behind: false })
        : { hits: await recallIn(await session(values.session), query, options), behind: false }
    return {
      json: { query, hits, behind },
      *text(paint) {
        for (const hit of hits) {
          const where = `${paint.bold(printable(hit.session))} ${paint.cyan(`#${hit.entry}`)} ${hit.role}`
          const tool = hit.tool ? ` ${printable(hit.tool)}` : ''
          const state = hit.inView ? paint.green('in view') : paint.yellow('not in view')
          const copies = hit.copies ? `  and ${amount(hit.copies, 'older copy', 'older copies')}` : ''
          const cost = paint.dim(`${minuteOf(hit.at)}  ${amount(hit.tokens, 'token')}${copies}`)
          yield `${where}${tool}  ${paint.dim(hit.hash)}  ${cost}  ${state}`
          yield `  ${oneLine(hit.snippet, 160)}`
        }
      },
      notes: [
        ...(hits.length === 0 ? ['Nothing was found.'] : []),
        ...(behind ? ['Older sessions are still being indexed: run it again for more.'] : []),
      ],
    }
  },
})

async function recallIn(session: Session, query: string, options: RecallOptions): Promise<SessionHit[]> {
  return (await session.recall(query, options)).map(hit => ({ session: session.id, ...hit }))
}

async function showAround(session: Session, id: string): Promise<Report> {
  const parts = await session.around(id)
  return {
    json: { session: session.id, parts },
    *text(paint) {
      for (const { hash, entry, role, tool, tokens, preview } of parts) {
        const what = `${paint.cyan(`#${entry}`)} ${role}${tool ? ` ${printable(tool)}` : ''}`
        yield `${hash === id ? '>' : ' '} ${what}  ${paint.dim(`${hash}  ${amount(tokens, 'token')}`)}  ${oneLine(preview, 100)}`
      }
    },
  }
}

async function showText(session: Session, id: string): Promise<Report> {
  const { entry, part, text } = await session.original(id)
  return { json: { session: session.id, entry, part, text }, text: () => [printable(text)] }
}

export const restore = defineCommand({
  name: 'restore',
  summary: 'show an original again at the end of the view, without a cache miss',
  usage: 'SESSION ID',
  details: 'ID is the id of an edit (e3) or of a part (the eight digits printed by show and recall).',
  examples: ['palimpsest restore fix-login 5f0c2a91'],
  options: {},
  async run({ args, session }) {
    const [name, id] = args
    const restored = await (await session(name!)).restore(id!)
    const { entry, text, edit } = restored
    return {
      json: { session: name, restored },
      *text() {
        if (edit) yield `Restored #${entry} at the end of the view as ${edit.id} (${amount(text.length, 'character')}).`
        else
          yield `Nothing can be added while a tool call waits for its result. The text of #${entry}:\n${printable(text)}`
      },
    }
  },
})
