/** `export`: complete sessions as JSON: all events in order, each checked against its hash. */

import { PalimpsestError } from '../../model/errors.ts'
import { allNames } from '../../session/every-session.ts'
import type { WholeSession } from '../../session/whole-session.ts'
import { defineCommand } from '../terminal/command.ts'
import { printableJson } from '../terminal/output.ts'

export const exportSessions = defineCommand({
  name: 'export',
  summary: 'write complete sessions as JSON',
  usage: '[SESSION...]',
  details:
    'Nothing is left out: original entries, edits, reverts, usage, and what file tools did. The same ledger always gives the\n' +
    'same text, so archives can be compared. `palimpsest import` creates the same session in another home.',
  examples: ['palimpsest export fix-login > fix-login.json', 'palimpsest export --all > sessions.json'],
  options: { all: { type: 'boolean', about: 'export all sessions of the home' } },
  async run({ args, values, open }) {
    if ((values.all === true) === args.length > 0) {
      throw new PalimpsestError('INVALID_INPUT', 'Name the sessions to export, or use --all.')
    }
    const pal = await open()
    const names = values.all ? await allNames(pal) : args
    const sessions: WholeSession[] = []
    const { EXPORT, exportSession } = await import('../../session/whole-session.ts')
    for (const name of names) sessions.push(await exportSession(pal, name))
    const file = { ...EXPORT, sessions: parentsFirst(sessions) }
    return { json: file, text: () => `${printableJson(file)}\n` }
  },
})

/** Parents come first: an imported fork shares its parent's events only if the parent was imported before it. */
function parentsFirst(sessions: readonly WholeSession[]): WholeSession[] {
  const byId = new Map(sessions.map(session => [session.id, session]))
  const depthOf = (session: WholeSession | undefined): number =>
    session?.parent ? 1 + depthOf(byId.get(session.parent.id)) : 0
  return sessions.toSorted((a, b) => depthOf(a) - depthOf(b))
}
