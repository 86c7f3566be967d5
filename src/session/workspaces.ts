/** Whose workspace is where: that of the home for its own people, one of their own for everybody else. */
import type { Files, HomeFiles } from '../files/store.ts'
import type { WorkspaceOf } from '../memory/file-blocks.ts'
import { workspaceIn } from '../memory/workspace.ts'
import type { Environment } from '../model/defaults.ts'
import { configPath, readConfig } from './config.ts'

type Place = { home: string; env: Environment; files: HomeFiles }

/** `own` are the names of those who are at home on this machine. */
export async function workspacesIn(place: Place, own: readonly string[]): Promise<WorkspaceOf> {
  const ours = await ownWorkspace(place)
  return user => (own.includes(user) ? ours : place.files.of(user, 'workspace'))
}

/** For somebody at this machine who names any user: a guest has files once an agent has worked for them. */
export async function workspacesSeen(place: Place): Promise<WorkspaceOf> {
  const ours = await ownWorkspace(place)
  const guests = new Set(await place.files.users())
  return user => (guests.has(user) ? place.files.of(user, 'workspace') : ours)
}

async function ownWorkspace({ home, env, files }: Place): Promise<Files> {
  const config = await readConfig(configPath(home), { mustExist: false })
  return workspaceIn(env, { files, configured: config?.agent?.workspace })
}
