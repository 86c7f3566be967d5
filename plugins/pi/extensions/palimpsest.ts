/**
 * Palimpsest in pi: /palimpsest-context, /palimpsest-undo and /palimpsest-why for the open session, and a status line. They
 * only call the `palimpsest` command. The extension also adds the session id to every request, because pi itself sends
 * it to few providers. pi must go through Palimpsest (`palimpsest install pi`).
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
  command('context', 'List the context by cost; with ids, price the removal of parts; with --yes, remove them', session => [
    'context',
    session,
  ])
  command('undo', 'Undo edits of the context', session => ['context', session, '--undo'])
  command('why', 'Explain the cost of this session', session => ['why', session])
  pi.on('before_provider_headers', ({ headers = {} }, context) => {
    headers['x-palimpsest-session'] = sessionOf(context)
  })
  pi.on('turn_end', async (_, context) => {
    const { stdout, code } = await pi.exec('palimpsest', ['statusline', sessionOf(context)])
    if (code === 0) context.ui.setStatus('palimpsest', stdout.trim())
  })
}
