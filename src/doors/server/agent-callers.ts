/**
 * The user of an agent's turn, and what the turn may therefore use.
 *
 * The local user has the agent as in the terminal: files, commands, their own workspace. All others (a caller with a
 * token, or a user whom a chat front end names) are guests: each has a separate memory and workspace, and neither files
 * nor commands, unless the server was started with a folder for them.
 */
import type { AgentDesk, Guest } from '../../agent/desk.ts'
import { checkUser } from '../../memory/checks.ts'
import { PalimpsestError } from '../../model/errors.ts'
import { type Caller, LOCAL, mayActFor } from './gate.ts'
import { forbidden } from './refusals.ts'
import type { Doors } from './route.ts'

export function agentOf({ agent }: Doors): AgentDesk {
  if (agent) return agent
  throw new PalimpsestError('NOT_FOUND', 'This server has no agent.')
}

/** The guest; undefined for the local user. `named`: the user that the request names. */
export async function guestOf(desk: AgentDesk, caller: Caller, named: string | undefined): Promise<Guest | undefined> {
  const { pal, user: owner, hasFiles } = await desk.home()
  const user = named ?? caller.user
  if (user === undefined) {
    if (caller.id === LOCAL.id) return undefined
    throw new PalimpsestError(
      'INVALID_INPUT',
      'Name the user: send a token of the user, or the header X-OpenWebUI-User-Id.',
    )
  }
  checkUser(user)
  if (!mayActFor(caller, user)) throw forbidden('This token is for another user.', { user })
  if (caller.id === LOCAL.id && user === owner) return undefined
  return { user, workspace: pal.files.of(user, 'workspace'), hasFiles }
}

/** The owner of a session that such a turn creates: the caller, or another user whom an admin names. */
export function ownerFor(caller: Caller, guest: Guest | undefined, named: string | undefined): string | undefined {
  return named === undefined || named === caller.user ? caller.owner : guest?.user
}
