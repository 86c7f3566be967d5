/** The workspace of each user: the home's for users of this machine, a separate one for each other user. */
import type { Files, HomeFiles } from '../files/store.ts'
import type { WorkspaceOf } from '../memory/file-blocks.ts'
import { workspaceIn } from '../memory/workspace.ts'
import type { Environment } from '../model/defaults.ts'
import { configPath, readConfig } from './config.ts'

type Place = { home: string; env: Environment; files: HomeFiles }

/** `own` are the users who work on this machine; they share the home's workspace. */
export async function workspacesIn(place: Place, own: readonly string[]): Promise<WorkspaceOf> {
  const ours = await ownWorkspace(place)
  return user => (own.includes(user) ? ours : place.files.of(user, 'workspace'))
}

/**
 * For a local caller who may name any user. A user is a guest if the home has files of theirs, from an agent that
 * worked for them; all others use the home's workspace.
 */
export async function workspacesSeen(place: Place): Promise<WorkspaceOf> {
  const ours = await ownWorkspace(place)
  const guests = new Set(await place.files.users())
  return user => (guests.has(user) ? place.files.of(user, 'workspace') : ours)
}

async function ownWorkspace({ home, env, files }: Place): Promise<Files> {
  const config = await readConfig(configPath(home), { mustExist: false })
  return workspaceIn(env, { files, configured: config?.agent?.workspace })
}
