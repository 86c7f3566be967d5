/** `mcp`: our tools for any client of the Model Context Protocol, on stdin and stdout. */
import { PalimpsestError } from '../../model/errors.ts'
import type { ToolGroup } from '../mcp/mcp.ts'
import { defineCommand, listIn } from '../terminal/command.ts'
import { warnOfReaders } from '../terminal/home-readers.ts'

export const mcp = defineCommand({
  name: 'mcp',
  summary: 'serve the tools to an MCP client over stdin and stdout',
  usage: '',
  details:
    'File tools are confined to the working folder, or to --root. The tools context and recall act on the session in --session,\n' +
    'which also records what was read and written. Configuration of clients: docs/mcp.md.',
  examples: [
    'palimpsest mcp',
    'palimpsest mcp --root ~/project --session fix-login --tools files,context',
    'claude mcp add palimpsest -- palimpsest mcp',
  ],
  options: {
    root: { type: 'string', value: 'DIR', about: 'the folder for file tools (the working folder)' },
    tools: {
      type: 'string',
      value: 'LIST',
      about: 'groups of tools: files,context,workspace,memory (these four); also editor,notes',
    },
    session: { type: 'string', short: 's', value: 'SESSION', about: 'the session to act on (mcp)' },
    workspace: { type: 'string', value: 'DIR', about: 'the folder of the knowledge files (PALIMPSEST_WORKSPACE)' },
    user: {
      type: 'string',
      value: 'USER',
      about: 'the user of the memory blocks (PALIMPSEST_USER, or your login name)',
    },
    agent: { type: 'string', value: 'AGENT', about: 'the name on proposed changes to memory (mcp)' },
  },
  async run({ values, home, io, open }) {
    const { resolve } = await import('node:path')
    const { serveStdio, MCP_TOOL_GROUPS, USUAL_GROUPS } = await import('../mcp/mcp.ts')
    warnOfReaders(home, io)
    const tools = values.tools === undefined ? USUAL_GROUPS : groupsIn(values.tools, MCP_TOOL_GROUPS)
    const { workspaceIn } = await import('../../memory/workspace.ts')
    const pal = await open({ create: true })
    const workspace = values.workspace ? resolve(values.workspace) : workspaceIn(io.env, { files: pal.files })
    const { openMemory, userIn } = await import('../../memory/open.ts')
    const memory = tools.includes('memory')
      ? await openMemory({ home, env: io.env, workspaceOf: () => workspace })
      : undefined
    const user = values.user ?? userIn(io.env)
    await serveStdio({
      seesSessions: true,
      pal,
      root: resolve(values.root ?? '.'),
      tools,
      session: values.session,
      workspace,
      ...(memory
        ? { memory: { memory, user, agent: values.agent ?? 'mcp', canAsk: !io.env['PALIMPSEST_AGENT'] } }
        : {}),
    }).finally(() => memory?.close())
    return undefined
  },
})

function groupsIn(list: string, known: readonly ToolGroup[]): readonly ToolGroup[] {
  const names = listIn(list)
  const unknown = names.find(name => !known.some(group => group === name))
  if (unknown === undefined && names.length > 0) return known.filter(group => names.includes(group))
  throw new PalimpsestError('INVALID_INPUT', `--tools takes these groups, separated by commas: ${known.join(', ')}.`, {
    tools: list,
  })
}
