/**
 * The command line door: `node src/cli.ts`, or `palimpsest` where the package is installed.
 *
 * Importing this file runs it. It only connects the process to doors/cli/main.ts; the commands are listed in
 * doors/cli/commands.ts. A reader that goes away (`palimpsest show x | head`) ends the program quietly.
 */
import { runCli } from './doors/cli/main.ts'

const { stdin, stdout, stderr, env } = process

stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})
stderr.on('error', () => {})

runCli(process.argv.slice(2), { stdin, stdout, stderr, env }).then(code => {
  process.exitCode = code
})
