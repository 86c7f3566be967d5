/** A temporary folder with a tool context around it, for tests. Locks stay in the temporary folder too. */

import { mkdtempSync, rmSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { memoryJournal } from '../../src/files/journal.ts'
import { runTool, type Tool, type ToolContext, type ToolResult } from '../../src/tools/tool.ts'

const home = mkdtempSync(join(tmpdir(), 'palimpsest-test-'))
process.env.PALIMPSEST_LOCKS ??= join(home, 'locks')
process.once('exit', () => rmSync(home, { recursive: true, force: true }))

export const NOON = new Date(2026, 10, 15, 12, 5).getTime()

let made = 0

export type Sandbox = {
  root: string
  outside: string
  context: ToolContext
  run: (tool: Tool, input: unknown) => Promise<ToolResult>
  put: (path: string, content: string | Uint8Array) => Promise<void>
  get: (path: string) => Promise<string>
}

export async function makeSandbox(overrides: Partial<ToolContext> = {}): Promise<Sandbox> {
  const base = join(home, String(++made))
  const root = join(base, 'root')
  const outside = join(base, 'outside')
  await mkdir(root, { recursive: true })
  await mkdir(outside)
  const context: ToolContext = {
    root,
    journal: memoryJournal(),
    now: () => NOON,
    workspace: join(base, 'workspace'),
    ...overrides,
  }
  return {
    root,
    outside,
    context,
    run: (tool, input) => runTool(tool, input, context),
    put: async (path, content) => {
      await mkdir(dirname(join(root, path)), { recursive: true })
      await writeFile(join(root, path), content)
    },
    get: path => readFile(join(root, path), 'utf8'),
  }
}
