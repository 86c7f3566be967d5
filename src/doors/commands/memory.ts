/** `memory`: what agents know about a user. Agents propose changes; the person at this terminal decides. */
import { MEMORY } from '../../model/defaults.ts'
import { PalimpsestError } from '../../model/errors.ts'
import { defineCommand } from '../terminal/command.ts'
import { type Action, MEMORY_OPTIONS, type MemoryContext } from './memory-desk.ts'

export const memory = defineCommand({
  name: 'memory',
  summary: "show and change a user's memory blocks, and decide on agents' proposals",
  usage: 'ACTION [ARG...]',
  details: [
    'list                        the blocks',
    'search QUERY                the blocks that match best',
    'show LABEL                  one block, now or --at a version',
    'set LABEL                   write a block yourself (--body or --file, --title, --schema)',
    'delete LABEL                delete a block; its history is kept',
    'propose LABEL               propose a change: --old and --new, --append, --prepend, --section, --body; or a new block',
    'proposals                   the proposals waiting for you, or those in --state',
    'suggest                     propose requests that you repeated in several sessions',
    'diff ID                     what a proposal would change; both versions if it conflicts',
    'diff LABEL V1 [V2]          what changed between two versions, or since V1',
    'approve ID                  apply a proposal; with --body or --file in your own words',
    'reject ID                   reject a proposal; the block is unchanged',
    'revert ID                   undo an approval',
    'history LABEL               the versions of a block',
    'restore LABEL VERSION       restore an old version as the newest',
    'export                      print blocks and open proposals of --user or --all as JSON',
    'import FILE                 import a file written by export',
  ].join('\n'),
  examples: [
    'palimpsest memory set goals --body "Learn algebra"',
    'palimpsest memory propose goals --append "Learn geometry" --reasoning "she asked for it"',
    'palimpsest memory proposals',
    'palimpsest memory diff 0mwifxjkixhbi27xz',
    'palimpsest memory approve 0mwifxjkixhbi27xz',
    'palimpsest memory history goals',
  ],
  options: MEMORY_OPTIONS,
  async run(context) {
    const [name = '', ...args] = context.args
    const { blockActions } = await import('./memory-blocks.ts')
    const { proposalActions } = await import('./memory-proposals.ts')
    const actions = new Map([...blockActions, ...proposalActions])
    const action = actions.get(name)
    if (!action) {
      const known = [...actions.keys()].join(' ')
      throw new PalimpsestError('INVALID_INPUT', `memory takes one of these actions: ${known}.`, { action: name })
    }
    const [least, most] = action.takes
    if (args.length < least || args.length > most) {
      throw new PalimpsestError('INVALID_INPUT', `Usage: palimpsest memory ${action.usage}`, { action: name })
    }
    const { userIn } = await import('../../memory/open.ts')
    const user = context.values.user ?? userIn(context.io.env)
    const { memory, files } = await open(context, action)
    try {
      // A command that an agent runs acts as the agent: it can propose, but not decide.
      const agent = context.io.env['PALIMPSEST_AGENT']
      return await action.run({ context, memory, user, by: agent ? `agent:${agent}` : `user:${user}` }, args)
    } finally {
      await memory.close()
      await files.close()
    }
  },
})

/** Reading does not create a memory that does not exist. */
async function open({ home, values, io }: MemoryContext, { writes }: Action) {
  const { existsSync } = await import('node:fs')
  const { join } = await import('node:path')
  const { openMemory } = await import('../../memory/open.ts')
  const doltUrl = values.dolt ?? io.env['PALIMPSEST_DOLT_URL']
  const isThere = writes || doltUrl || existsSync(join(home, 'memory.sqlite'))
  const { databaseUrl } = await import('../../ledger/postgres/database.ts')
  const { openHomeFiles } = await import('../../files/open.ts')
  const { workspacesSeen } = await import('../../session/workspaces.ts')
  const files = await openHomeFiles(home, databaseUrl(io.env) ?? false)
  const workspaceOf = await workspacesSeen({ home, env: io.env, files })
  const memory = await openMemory({ home: isThere ? home : MEMORY, env: io.env, doltUrl, workspaceOf })
  return { memory, files }
}
