/**
 * `/memory`: the agent's memory of the user, and its proposals to change it. Only the person at the terminal decides,
 * one proposal after the other, with the difference in front of them; neither the agent nor `--yes` can.
 */

import { isPalimpsestError, PalimpsestError } from '../../model/errors.ts'
import { amount } from '../../model/text.ts'
import { blockActions } from '../commands/memory-blocks.ts'
import type { Action, MemoryContext } from '../commands/memory-desk.ts'
import { proposalActions } from '../commands/memory-proposals.ts'
import { printReport } from './cli-report.ts'
import type { Desk, Slash } from './desk.ts'

const ACTIONS = new Map<string, Action>([...blockActions, ...proposalActions])
const HERE = ['list', 'show', 'proposals', 'diff', 'approve', 'reject', 'revert', 'history']

export const memoryCommand: Slash = {
  name: 'memory',
  usage: '[ACTION ARG]',
  about: 'list memory blocks and open proposals; also show LABEL, approve ID, reject ID, revert ID, history LABEL',
  async run(desk, [action, ...args]) {
    if (action === undefined) return decideAll(desk)
    await act(desk, action, args)
  },
}

async function decideAll(desk: Desk): Promise<void> {
  const { memory, user } = desk.home
  await act(desk, 'list', [])
  const open = await memory.proposals(user, { state: 'open', limit: 100 })
  if (open.length === 0) return desk.say('No proposals are waiting for you.', 'dim')
  desk.say(`${amount(open.length, 'proposal')} for you to decide on:`)
  for (const { id } of open.toReversed()) {
    desk.screen.print([])
    await act(desk, 'diff', [id])
    desk.screen.print([])
    const answer = await desk.choose('Save this to memory?', ['approve', 'reject', 'later', 'stop'])
    if (answer === 'stop') return
    if (answer === 'approve' || answer === 'reject') await attempt(desk, () => act(desk, answer, [id]))
  }
}

/** A proposal that cannot be approved as it is stays open; the next one is still shown. */
async function attempt(desk: Desk, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!isPalimpsestError(error)) throw error
    desk.say(error.message, 'red')
  }
}

async function act(desk: Desk, name: string, args: readonly string[]): Promise<void> {
  const action = HERE.includes(name) ? ACTIONS.get(name) : undefined
  if (!action) throw new PalimpsestError('INVALID_INPUT', `/memory takes one of: ${HERE.join(', ')}.`)
  const [least, most] = action.takes
  if (args.length < least || args.length > most) {
    throw new PalimpsestError('INVALID_INPUT', `Usage: /memory ${action.usage.split(',')[0]}`)
  }
  const { memory, user } = desk.home
  const context = { values: {}, io: desk.io, home: desk.home.home } as MemoryContext
  printReport(desk, await action.run({ context, memory, user, by: `user:${user}` }, args))
}
