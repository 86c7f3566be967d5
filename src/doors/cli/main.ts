/**
 * Runs one command line: finds the command, checks the arguments, prints its report, and turns every failure into one
 * line and an exit code. There is never a stack trace without --debug.
 */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { packageVersion } from '../../files/package-version.ts'
import { databaseUrl } from '../../ledger/postgres/database.ts'
import { homeIn } from '../../model/defaults.ts'
import { ERROR_CODES, isPalimpsestError, messageOf, ofSystem, PalimpsestError } from '../../model/errors.ts'
import { parseJson } from '../../model/json.ts'
import type { Palimpsest } from '../../session/engine.ts'
import type { Command, Context, Io, Options, Report } from '../terminal/command.ts'
import { nearestTo } from '../terminal/nearest.ts'
import { createPaint, printable, printableJson, wantsColour } from '../terminal/output.ts'
import { programName } from '../terminal/program.ts'
import { COMMANDS } from './commands.ts'
import { commandHelp, GLOBAL, overview } from './help.ts'

/** The exit code for an internal error. */
export const INTERNAL_EXIT = 70

type Commands = readonly Command[]
type Parsed = { command: Command | undefined; args: string[]; values: Record<string, unknown> }

export async function runCli(argv: readonly string[], io: Io, commands = COMMANDS): Promise<number> {
  try {
    return await dispatch(parse(argv, commands), io, commands)
  } catch (thrown) {
    const error = ofSystem(thrown)
    const flags = new Set(argv)
    const text = describeError(error, { json: flags.has('--json'), debug: flags.has('--debug') })
    io.stderr.write(flags.has('--json') ? text : asCalled(text, commands, io.env))
    return isPalimpsestError(error) ? (ERROR_CODES[error.code] ?? INTERNAL_EXIT) : INTERNAL_EXIT
  }
}

async function dispatch({ command, args, values }: Parsed, io: Io, commands: Commands): Promise<number> {
  if (values['version']) return say(io, `${packageVersion()}\n`)
  if (values['help'] && command) return say(io, commandHelp(command))
  if (!command) {
    if (values['help']) return say(io, overview(commands))
    return dispatch({ command: find('welcome', commands), args, values }, io, commands)
  }
  checkArguments(command, args)
  const opened: Opened[] = []
  try {
    const report = await command.run(contextOf({ args, values, io, opened }))
    return report ? print(report, io, values['json'] === true) : 0
  } finally {
    for (const one of opened) await one.close()
  }
}

type Opened = { close(): Promise<void> }

/** The home with telemetry, if the variables of OpenTelemetry name an endpoint. */
async function withTelemetry(pal: Palimpsest, { env, stderr }: Io): Promise<Opened> {
  const isAsked = Object.keys(env).some(name => /^OTEL_EXPORTER_OTLP_.*ENDPOINT$/.test(name))
  if (!isAsked) return pal
  const { startTelemetry } = await import('../../session/telemetry.ts')
  const telemetry = startTelemetry({ pal, env, log: line => void stderr.write(`${line}\n`) })
  return {
    async close() {
      await telemetry?.close()
      await pal.close()
    },
  }
}

function contextOf(given: { args: string[]; values: Record<string, unknown>; io: Io; opened: Opened[] }): Context {
  const { args, values, io, opened } = given
  const named = values['home']
  const home = typeof named === 'string' && named !== '' ? named : usualHome(io.env)
  const database = databaseUrl(io.env)
  const start = async (threaded = false): Promise<Palimpsest> => {
    const { openPalimpsest } = await import('../../session/engine.ts')
    const { ThreadedLedger } = await import('../../ledger/threaded.ts')
    const store = threaded && !database ? { store: new ThreadedLedger(join(home, 'ledger.sqlite')) } : {}
    const pal = await openPalimpsest({ home, ...store, databaseUrl: database ?? false })
    opened.push(await withTelemetry(pal, io))
    return pal
  }
  const openIfThere = async () => (database || existsSync(join(home, 'ledger.sqlite')) ? start() : undefined)
  const open = async ({ create = false, threaded = false } = {}): Promise<Palimpsest> => {
    const pal = create ? await start(threaded) : await openIfThere()
    if (pal) return pal
    throw new PalimpsestError(
      'SESSION_NOT_FOUND',
      `There is no ledger in ${home}. Name another folder with --home or PALIMPSEST_HOME.`,
      { home },
    )
  }
  const session = async (id: string) => (await open()).session(id, { mustExist: true })
  return { args, values: values as Context['values'], home, io, open, openIfThere, session }
}

/** The home from the environment, the one in this folder, or that of the installed service. */
function usualHome(env: Io['env']): string {
  const home = homeIn(env)
  const installed = join(env['HOME'] ?? env['USERPROFILE'] ?? '', '.palimpsest', 'installed.json')
  if (env['PALIMPSEST_HOME'] || existsSync(home) || !existsSync(installed)) return home
  const { service } = parseJson<{ service?: { home: string } }>(readFileSync(installed, 'utf8'))
  return service?.home ?? home
}

function print({ json, text, notes = [], exit = 0 }: Report, io: Io, asJson: boolean): number {
  if (asJson) io.stdout.write(`${printableJson(json)}\n`)
  else {
    const lines = text(createPaint(wantsColour(io.env, io.stdout.isTTY === true)))
    if (typeof lines === 'string') io.stdout.write(lines)
    else for (const line of lines) io.stdout.write(`${line}\n`)
    for (const note of notes) io.stderr.write(`${asCalled(note, COMMANDS, io.env)}\n`)
  }
  return exit
}

/** Global options may come before the command's name; all others come after it. */
function parse(argv: readonly string[], commands: Commands): Parsed {
  const { tokens } = parseArgs({
    args: [...argv],
    options: GLOBAL,
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  const first = tokens.find(token => token.kind === 'positional')
  // Otherwise the value of a mistyped option before the command would be taken for the command.
  const odd = tokens.find(token => token.kind === 'option' && !Object.hasOwn(GLOBAL, token.name))
  if (first && odd?.kind === 'option' && odd.index < first.index && odd.name !== 'h') {
    throw unknownOption(odd.rawName, GLOBAL, undefined)
  }
  const rest = first ? argv.filter((_, i) => i !== first.index) : [...argv]
  if (!first) return { command: undefined, ...parseStrictly(rest, GLOBAL) }
  if (first.value === 'help') {
    const [name] = rest.filter(arg => !arg.startsWith('-'))
    return { command: name === undefined ? undefined : find(name, commands), args: [], values: { help: true } }
  }
  const command = find(first.value, commands)
  return { command, ...parseStrictly(rest, { ...GLOBAL, ...command.options }, command) }
}

function parseStrictly(args: string[], options: Options, command?: Command): Pick<Parsed, 'args' | 'values'> {
  try {
    const { values, positionals } = parseArgs({ args: joinBullets(args), options, allowPositionals: true })
    return { args: positionals, values }
  } catch (cause) {
    const message = messageOf(cause)
    const unknown = /^Unknown option '([^']+)'/.exec(message)
    if (unknown) throw unknownOption(unknown[1]!, options, command)
    const [reason] = message.split('. To specify')
    const help = `palimpsest ${command ? `${command.name} ` : ''}--help`
    throw new PalimpsestError('INVALID_INPUT', `${reason?.replace(/\.$/, '')}. See: ${help}`, {}, cause)
  }
}

/** `--append "- likes tea"`: a value that begins with a dash and a space is not an option. */
function joinBullets(args: readonly string[]): string[] {
  return args.flatMap((arg, i) => {
    if (i > 0 && arg.startsWith('- ') && isLongOption(args[i - 1]!)) return []
    return isLongOption(arg) && args[i + 1]?.startsWith('- ') ? [`${arg}=${args[i + 1]}`] : [arg]
  })
}

function isLongOption(arg: string): boolean {
  return /^--[a-z][a-z-]*$/.test(arg)
}

function unknownOption(given: string, options: Options, command: Command | undefined): PalimpsestError {
  const name = given.replace(/^-+/, '').split('=')[0]!
  const nearest = nearestTo(name, Object.keys(options))
  const help = `See: palimpsest ${command ? `${command.name} ` : ''}--help`
  const own =
    command?.name === 'run' ? ". Put an agent's own options after --, as in: palimpsest run -- claude -p hello" : ''
  const hint = nearest ? `Did you mean --${nearest}?` : `${help}${own}`
  return new PalimpsestError('INVALID_INPUT', `There is no option ${given.split('=')[0]}. ${hint}`, {
    option: given,
    ...(nearest ? { nearest: `--${nearest}` } : {}),
  })
}

function find(name: string, commands: Commands): Command {
  const command = commands.find(candidate => candidate.name === name)
  if (command) return command
  const nearest = nearestTo(
    name,
    commands.map(command => command.name),
  )
  const hint = nearest ? `Did you mean ${nearest}?` : 'List them with: palimpsest --help'
  throw new PalimpsestError('INVALID_INPUT', `There is no command ${JSON.stringify(name)}. ${hint}`, {
    command: name,
    ...(nearest ? { nearest } : {}),
  })
}

function checkArguments({ name, usage }: Command, args: readonly string[]): void {
  const words = usage.split(' ').filter(word => word !== '')
  const needed = words.filter(word => !word.startsWith('['))
  const endless = words.some(word => word.replace(']', '').endsWith('...'))
  if (args.length >= needed.length && (endless || args.length <= words.length)) return
  const missing = needed[args.length]
  const problem = missing
    ? `${missing.replace('...', '')} is missing`
    : `${JSON.stringify(args[words.length])} is one argument too many`
  throw new PalimpsestError('INVALID_INPUT', `${problem}. Usage: palimpsest ${name} ${usage}`.trimEnd(), {
    command: name,
  })
}

/** Rewrites commands in our messages as the user can type them. */
function asCalled(text: string, commands: Commands, env: Io['env']): string {
  const program = programName(env)
  const names = new Set(commands.map(({ name }) => name))
  return text.replaceAll(/(?<!npx )\bpalimpsest (--help|[a-z-]+)/g, (whole, word: string) =>
    word === '--help' || names.has(word) ? `${program} ${word}` : whole,
  )
}

/** One line (or one JSON object) with the problem and its code. */
function describeError(error: unknown, { json, debug }: { json: boolean; debug: boolean }): string {
  const known = isPalimpsestError(error)
  const code = known ? error.code : 'INTERNAL'
  const message = messageOf(error)
  const stack = debug && error instanceof Error ? `${stackOf(error)}\n` : ''
  if (json) return `${printableJson({ error: { code, message, data: known ? error.data : {} } }, 0)}\n${stack}`
  const said = known ? message : `This is a bug in palimpsest: ${message}. Use --debug to see the stack.`
  return `palimpsest: ${printable(said)} (${code})\n${stack}`
}

function stackOf(error: Error): string {
  const cause = error.cause instanceof Error ? `\ncaused by: ${stackOf(error.cause)}` : ''
  return `${error.stack ?? error.message}${cause}`
}

function say(io: Io, text: string): number {
  io.stdout.write(text)
  return 0
}
