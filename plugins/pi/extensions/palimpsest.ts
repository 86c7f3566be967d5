/**
 * Palimpsest in pi: /palimpsest-context, /palimpsest-undo and /palimpsest-why on the session that is open, and a status line.
 * What they do is in the `palimpsest` command and its service. Every request says which session it is of, which pi
 * itself tells most providers not. Needs pi to go through Palimpsest (`palimpsest install pi`).
 */

type Ran = { stdout: string; stderr: string; code: number }
type Context = {
  sessionManager: { getSessionId(): string }
  ui: { notify(text: string, kind: 'info' | 'error'): void; setStatus(key: string, text: string): void }
}
type Handler = (event: { headers?: Record<string, string> }, context: Context) => Promise<void> | void
type Pi = {
  on(event: string, handler: Handler): void
  registerCommand(name: string, command: { description: string; handler(args: string, context: Context): Promise<void> }): void
  exec(command: string, args: string[]): Promise<Ran>
}

const sessionOf = ({ sessionManager }: Context) => `pi-${sessionManager.getSessionId()}`

export default function palimpsest(pi: Pi): void {
  const command = (name: string, description: string, args: (session: string) => string[]) =>
    pi.registerCommand(`palimpsest-${name}`, {
      description,
      async handler(given, context) {
        const words = given.split(/\s+/).filter(word => word !== '')
        const { stdout, stderr, code } = await pi.exec('palimpsest', [...args(sessionOf(context)), ...words])
        context.ui.notify(code === 0 ? stdout : stderr, code === 0 ? 'info' : 'error')
      },
    })
  command('context', 'What fills the window by cost; with ids, the price; with --yes, take them out', session => [
    'context',
    session,
  ])
  command('undo', 'Take back edits of the context', session => ['context', session, '--undo'])
  command('why', 'Why this session cost what it cost', session => ['why', session])
  pi.on('before_provider_headers', ({ headers = {} }, context) => {
    headers['x-palimpsest-session'] = sessionOf(context)
  })
  pi.on('turn_end', async (_, context) => {
    const { stdout, code } = await pi.exec('palimpsest', ['statusline', sessionOf(context)])
    if (code === 0) context.ui.setStatus('palimpsest', stdout.trim())
  })
}
