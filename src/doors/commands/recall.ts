/** `recall` and `restore`: find what is no longer in view, and bring it back. */
import type { SessionHit } from '../../session/engine.ts'
import type { Session } from '../../session/session.ts'
import { defineCommand, numberOption } from '../terminal/command.ts'
import { amount, oneLine, printable } from '../terminal/output.ts'

export const recall = defineCommand({
  name: 'recall',
  summary: 'search everything that ever happened, in one session or in all',
  usage: 'QUERY...',
  details: 'All words must occur; the last may be the beginning of one. Each hit says whether the model sees it now.',
  examples: ['palimpsest recall timezone offset', 'palimpsest recall "cannot find module" --session fix-login'],
  options: {
    session: { type: 'string', short: 's', value: 'SESSION', about: 'only in this session' },
    limit: { type: 'string', value: 'N', about: 'how many hits (20)' },
  },
  async run({ args, values, session, openIfThere }) {
    const query = args.join(' ')
    const limit = numberOption(values.limit, '--limit') ?? 20
    const { hits } =
      values.session === undefined
        ? ((await (await openIfThere())?.recall(query, { limit, distinct: true })) ?? { hits: [] })
        : { hits: await recallIn(await session(values.session), query, limit) }
    return {
      json: { query, hits },
      *text(paint) {
        for (const hit of hits) {
          const where = `${paint.bold(printable(hit.session))} ${paint.cyan(`#${hit.entry}`)} ${hit.role}`
          const tool = hit.tool ? ` ${printable(hit.tool)}` : ''
          const state = hit.inView ? paint.green('in view') : paint.yellow('not in view')
          yield `${where}${tool}  ${paint.dim(hit.hash)}  ${state}`
          yield `  ${oneLine(hit.snippet, 160)}`
        }
      },
      notes: hits.length === 0 ? ['Nothing was found.'] : [],
    }
  },
})

async function recallIn(session: Session, query: string, limit: number): Promise<SessionHit[]> {
  return (await session.recall(query, { limit, distinct: true })).map(hit => ({ session: session.id, ...hit }))
}

export const restore = defineCommand({
  name: 'restore',
  summary: 'bring an original back at the end of the view, where it costs no cache',
  usage: 'SESSION ID',
  details: 'ID is that of an edit (e3) or of a part (the eight digits that show and recall print).',
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
