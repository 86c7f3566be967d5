/**
 * Routes: the knowledge files that every session starts with. They belong to the home and not to one user (the daily
 * log describes the sessions of all users), so they are for admins: on loopback, the local user.
 *
 * A write names the version that was read. If the file has changed since, nothing is written, and the answer shows the
 * current text beside the text that was sent. Files are written as the tools write them: inside the folder only, whole
 * or not at all.
 */
import { z } from 'zod'
import { storeOf } from '../../files/folder.ts'
import { hashContent } from '../../files/journal.ts'
import { notFound } from '../../files/root.ts'
import type { FileStore } from '../../files/store.ts'
import { FILE_LIMIT, initWorkspace, workspaceFiles } from '../../memory/workspace.ts'
import { isPalimpsestError, PalimpsestError } from '../../model/errors.ts'
import { ADMINS, defineRoute, named, type Route } from './route.ts'

const MAX_TEXT = 1_000_000
const MOST_FILES = 1000

const FileName = z
  .string()
  .min(4)
  .max(200)
  .regex(/^(?!.*(?:^|\/)\.{1,2}(?:\/|$))[\p{L}\p{N}._ -]+(?:\/[\p{L}\p{N}._ -]+){0,2}\.md$/u)
  .describe('A Markdown file in the workspace; escape its slashes: .learnings%2FERRORS.md')
const FileVersion = z.string().regex(/^[0-9a-f]{8,128}$/)

const FileOut = named('WorkspaceFile', {
  path: z.string(),
  text: z.string(),
  version: FileVersion.describe('The version of this text; a write must name it.'),
  bytes: z.number(),
})

const list = defineRoute({
  method: 'get',
  path: '/workspace',
  summary: 'The knowledge files that every session starts with',
  roles: ADMINS,
  answer: named('Workspace', {
    folder: z.string(),
    limit: z.number().describe('The most characters of one file that a session is given; longer files are cut.'),
    files: z.array(z.object({ path: z.string(), version: FileVersion, bytes: z.number() })),
  }),
  async run({ doors }) {
    const store = storeOf(doors.workspace)
    const files = []
    for (const path of (await workspaceFiles({ folder: store })).slice(0, MOST_FILES)) {
      const found = await readIn(store, path).catch(error => {
        // A file that is gone again, or is not text, is not listed.
        if (isPalimpsestError(error)) return undefined
        throw error
      })
      if (found) files.push({ path, version: found.version, bytes: found.bytes })
    }
    return { folder: store.folder, limit: FILE_LIMIT, files }
  },
})

const init = defineRoute({
  method: 'post',
  path: '/workspace',
  summary: 'Create missing knowledge files from templates',
  roles: ADMINS,
  answer: z.object({ made: z.array(z.string()) }),
  status: 201,
  async run({ doors }) {
    return { made: await initWorkspace({ folder: doors.workspace, now: doors.clock }) }
  },
})

const read = defineRoute({
  method: 'get',
  path: '/workspace/{file}',
  summary: 'One knowledge file',
  roles: ADMINS,
  params: { file: FileName },
  answer: FileOut,
  async run({ params, doors }) {
    return readIn(storeOf(doors.workspace), params.file)
  },
})

const put = defineRoute({
  method: 'put',
  path: '/workspace/{file}',
  summary: 'Write a knowledge file, unless it has changed since it was read',
  description:
    'A 409 (FILE_CHANGED) has the current text as `now`, its `version`, and `yours`; nothing was written. For a new ' +
    'file the version is null.',
  roles: ADMINS,
  params: { file: FileName },
  body: z.strictObject({ text: z.string().max(MAX_TEXT), version: FileVersion.nullable() }),
  answer: FileOut,
  refusals: [409],
  async run({ params, body, doors }) {
    const { file: path } = params
    const { text, version } = body
    const store = storeOf(doors.workspace)
    await store.change(path, now => {
      const there = now === null ? null : hashContent(now)
      if (there !== version) throw changed(path, { now, version: there, yours: text })
      return text
    })
    return readIn(store, path)
  },
})

export const workspaceRoutes: readonly Route[] = [list, init, read, put]

async function readIn(store: FileStore, path: string): Promise<z.input<typeof FileOut>> {
  const found = await store.read(path)
  if (!found) throw notFound(path)
  return { path, ...found, bytes: Buffer.byteLength(found.text) }
}

function changed(path: string, both: { now: string | null; version: string | null; yours: string }): PalimpsestError {
  const what = both.now === null ? 'no longer exists' : 'has changed since it was read'
  return new PalimpsestError('FILE_CHANGED', `${path} ${what}. Compare both versions, then write again.`, {
    path,
    ...both,
  })
}
