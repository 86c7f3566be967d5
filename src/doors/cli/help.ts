/** The text of `--help`: an overview of the commands, and a page for each with its options and examples. */
import type { Command, Option, Options } from '../terminal/command.ts'

/** The options that every command takes. */
export const GLOBAL = {
  home: { type: 'string', value: 'DIR', about: 'the folder with the ledger (PALIMPSEST_HOME, or .agent)' },
  json: { type: 'boolean', about: 'answer in JSON' },
  debug: { type: 'boolean', about: 'print the stack of an error' },
  help: { type: 'boolean', short: 'h', about: 'print this help' },
  version: { type: 'boolean', about: 'print the version' },
} as const satisfies Options

export function overview(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ name, usage }) => name.length + usage.length + 1))
  const listed = commands.map(({ name, usage, summary }) => `  ${`${name} ${usage}`.padEnd(width)}  ${summary}`)
  return lines([
    'Palimpsest edits the context of LLM agents. The record never changes, and every edit can be undone.',
    '',
    'Usage: palimpsest COMMAND [ARGUMENTS] [OPTIONS]',
    '',
    ...listed,
    '',
    'Options for every command:',
    ...optionLines(GLOBAL),
    '',
    'More about a command: palimpsest COMMAND --help',
  ])
}

export function commandHelp({ name, summary, usage, details, examples, options }: Command): string {
  const own = Object.keys(options).length > 0 ? ['', 'Options:', ...optionLines(options)] : []
  return lines([
    `Usage: palimpsest ${name} ${usage}`.trimEnd(),
    '',
    `${summary[0]!.toUpperCase()}${summary.slice(1)}.`,
    ...(details ? ['', details] : []),
    ...own,
    '',
    'Options for every command:',
    ...optionLines(GLOBAL),
    '',
    examples.length === 1 ? 'Example:' : 'Examples:',
    ...examples.map(example => `  ${example}`),
  ])
}

function optionLines(options: Options): string[] {
  const named = Object.entries(options).map(([name, option]) => [flagOf(name, option), option.about] as const)
  const width = Math.max(...named.map(([flag]) => flag.length))
  return named.map(([flag, about]) => `  ${flag.padEnd(width)}  ${about}`)
}

function flagOf(name: string, { short, type, value = 'VALUE' }: Option): string {
  return `${short ? `-${short}, ` : ''}--${name}${type === 'string' ? ` ${value}` : ''}`
}

function lines(all: readonly string[]): string {
  return `${all.join('\n')}\n`
}
