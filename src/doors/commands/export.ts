/** `export`: sessions as JSON, whole: every event of their ledgers, in order, checked against its hashes on the way. */

import { PalimpsestError } from '../../model/errors.ts'
import type { Session } from '../../session/session.ts'
import { defineCommand } from '../terminal/command.ts'
import { printableJson } from '../terminal/output.ts'
import { allNames } from './sessions.ts'

export const exportSessions = defineCommand({
  name: 'export',
  summary: 'write sessions as JSON, with everything that happened in them',
  usage: '[SESSION...]',
  details:
    'Nothing is left out: entries as they happened, edits, reverts, usage, what file tools did. The same ledger gives the\n' +
    'same text, so an archive can be compared.',
  examples: ['palimpsest export fix-login > fix-login.json', 'palimpsest export --all > sessions.json'],
  options: { all: { type: 'boolean', about: 'every session of the home' } },
  async run({ args, values, open }) {
    if ((values.all === true) === args.length > 0) {
      throw new PalimpsestError('INVALID_INPUT', 'Name the sessions to export, or say --all.')
    }
    const pal = await open()
    const names = values.all ? await allNames(pal) : args
    const sessions = []
    for (const name of names) {
      const session = await pal.session(name, { mustExist: true })
      const info = await pal.find(name)
      sessions.push({ ...info, ledger: await ledgerOf(session) })
    }
    const file = { format: 'palimpsest-sessions', version: 1, sessions }
    return { json: file, text: () => `${printableJson(file)}\n` }
  },
})

async function ledgerOf(session: Session): Promise<object[]> {
  return (await session.events()).map(({ seq, at, event }) => ({ seq, at, ...event }))
}
