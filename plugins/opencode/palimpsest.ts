/**
 * Palimpsest in opencode: /palimpsest-context, /palimpsest-undo and /palimpsest-why for the open session. They only call
 * the `palimpsest` command. opencode must go through Palimpsest (`palimpsest install opencode`).
 */
import { execFile } from 'node:child_process'

type Part = { type: string; text?: string }
type Config = { command?: Record<string, { template: string; description: string }>; mcp?: Record<string, unknown> }
type Asked = { command: string; sessionID: string; arguments: string }

const COMMANDS: Record<string, { description: string; args: (session: string) => string[] }> = {
  'palimpsest-context': {
    description: 'List the context window by cost; with ids, price the removal of parts; with --yes, remove them',
    args: session => ['context', session],
  },
  'palimpsest-undo': {
    description: 'Undo edits of the context; without ids, the last one',
    args: session => ['context', session, '--undo'],
  },
  'palimpsest-why': { description: 'Explain the cost of this session', args: session => ['why', session] },
}

const TEMPLATE = 'Show the user the output below unchanged, and do nothing else.'

export const Palimpsest = async () => ({
  async config(config: Config) {
    const commands = Object.entries(COMMANDS).map(([name, { description }]) => [name, { template: TEMPLATE, description }])
    config.command = { ...Object.fromEntries(commands), ...config.command }
    config.mcp = {
      palimpsest: { type: 'local', command: ['palimpsest', 'mcp', '--tools', 'workspace,memory'] },
      ...config.mcp,
    }
  },
  async 'command.execute.before'({ command, sessionID, arguments: given }: Asked, output: { parts: Part[] }) {
    const known = COMMANDS[command]
    if (!known) return
    const words = given.split(/\s+/).filter(word => word !== '')
    const said = await palimpsest([...known.args(`session-${sessionID}`), ...words])
    for (const part of output.parts) if (part.type === 'text') part.text = `${TEMPLATE}\n\n${said}`
  },
})

function palimpsest(args: string[]): Promise<string> {
  return new Promise(resolve => {
    execFile('palimpsest', args, (error, stdout, stderr) => resolve(error ? stderr || error.message : stdout))
  })
}
