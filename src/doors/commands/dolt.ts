/** `dolt start`: a local Dolt server for memory, until it is told to stop. */
import { PalimpsestError } from '../../model/errors.ts'
import { defineCommand, numberOption } from '../terminal/command.ts'

export const dolt = defineCommand({
  name: 'dolt',
  summary: 'run a local Dolt server for memory',
  usage: 'start',
  details:
    'Starts `dolt sql-server` on a folder of the home, on loopback, and restarts it if it dies. Ctrl-C stops it.\n' +
    'The program is the one in PALIMPSEST_DOLT, the one built by npm run dolt:install, or dolt on the PATH.',
  examples: [
    'palimpsest dolt start',
    'palimpsest dolt start --port 3307',
    'PALIMPSEST_DOLT_URL=mysql://root@127.0.0.1:3307/palimpsest palimpsest memory list',
  ],
  options: {
    port: { type: 'string', short: 'p', value: 'N', about: 'the port to listen on (3307)' },
    dir: { type: 'string', value: 'DIR', about: 'the folder of the databases (dolt in the home)' },
  },
  async run({ args, values, home, io }) {
    if (args[0] !== 'start') {
      throw new PalimpsestError('INVALID_INPUT', `Use dolt start, not ${JSON.stringify(args[0])}.`, { action: args[0] })
    }
    const { join } = await import('node:path')
    const { startDoltServer } = await import('../../memory/dolt-server.ts')
    const port = numberOption(values.port, '--port') ?? 3307
    const server = await startDoltServer({ folder: values.dir ?? join(home, 'dolt'), port, env: io.env })
    const lines = [`Dolt is at ${server.url()}`, `  folder  ${server.folder}`, `  log     ${server.log}`]
    io.stdout.write(`${lines.join('\n')}\n`)
    await new Promise<void>(stopped => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopped())
    })
    await server.stop()
    return undefined
  },
})
