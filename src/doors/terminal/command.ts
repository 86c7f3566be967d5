/**
 * The type of a CLI command. A new one is a file that calls `defineCommand`, and a line in commands.ts.
 *
 * A command translates and never decides: it turns its arguments into calls of the engine and returns a report, which
 * cli/main.ts prints as text or as JSON. Contract: the file of a command imports nothing heavy at its top (engine,
 * tokenizer, zod), because `palimpsest --help` loads all commands; it asks its context, or imports inside `run`.
 */

import { text as readText } from 'node:stream/consumers'
import type { Environment } from '../../model/defaults.ts'
import { messageOf, PalimpsestError } from '../../model/errors.ts'
import { parseJson } from '../../model/json.ts'
import type { Palimpsest } from '../../session/engine.ts'
import type { Session } from '../../session/session.ts'
import type { Paint } from './output.ts'

export type Option = {
  type: 'string' | 'boolean'
  short?: string
  multiple?: boolean
  /** The name of the value in the help. */
  value?: string
  about: string
}
export type Options = Record<string, Option>

type ValueOf<O extends Option> = O['type'] extends 'boolean'
  ? boolean
  : O extends { multiple: true }
    ? string[]
    : string
export type Values<O extends Options> = { [K in keyof O]?: ValueOf<O[K]> }

/** The environment of the process, so that tests can replace it. */
export type Io = {
  stdin: NodeJS.ReadableStream
  stdout: { write(text: string): unknown; isTTY?: boolean }
  stderr: { write(text: string): unknown }
  env: Environment
}

export type Context<O extends Options = Options> = {
  args: string[]
  values: Values<O> & { home?: string; json?: boolean }
  /** The folder that holds the ledger. */
  home: string
  io: Io
  /**
   * Opens the engine on the home; it is closed when the command is done. Reading never creates a home. A server opens
   * it `threaded`, so that no request waits until another's write is on disk.
   */
  open(options?: { create?: boolean; threaded?: boolean }): Promise<Palimpsest>
  /** The same; undefined if there is no ledger yet. */
  openIfThere(): Promise<Palimpsest | undefined>
  /** A session that must exist. */
  session(id: string): Promise<Session>
}

/** The result of a command: `json` with --json, `text` without; `notes` go to stderr. */
export type Report = {
  json: unknown
  text: (paint: Paint) => string | Iterable<string>
  notes?: string[]
  /** 0 by default; 1 means that the command did its work and the answer is no. */
  exit?: number
}

export type Command<O extends Options = Options> = {
  name: string
  /** One line for the list of commands. */
  summary: string
  /** The arguments: `[X]` may be left out, `X...` may be repeated. They are checked against this. */
  usage: string
  /** Further text for the help, below the usage. */
  details?: string
  examples: string[]
  options: O
  /** Returns undefined if the command has printed everything itself. */
  run(context: Context<O>): Promise<Report | undefined>
}

export function defineCommand<const O extends Options>(command: Command<O>): Command {
  return command
}

/** The argument as a number from 0 up. */
export function wholeNumber(text: string, what: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new PalimpsestError('INVALID_INPUT', `${what} must be a whole number, not ${JSON.stringify(text)}.`, {
    [what]: text,
  })
}

/** The items of a list with commas between them. */
export function listIn(text: string): string[] {
  return text
    .split(',')
    .map(item => item.trim())
    .filter(item => item !== '')
}

export function numberOption(text: string | undefined, what: string): number | undefined {
  return text === undefined ? undefined : wholeNumber(text, what)
}

/** `10%` or `0.1`. */
export function shareOption(text: string | undefined, what: string): number | undefined {
  if (text === undefined) return undefined
  const share = text.endsWith('%') ? Number(text.slice(0, -1)) / 100 : Number(text)
  if (text !== '%' && share >= 0 && share <= 1) return share
  throw new PalimpsestError('INVALID_INPUT', `${what} must be between 0% and 100%, not ${JSON.stringify(text)}.`, {
    text,
  })
}

/** The text of a file, or of stdin for `-`. */
export async function readInput(path: string, io: Io): Promise<string> {
  if (path === '-') return readText(io.stdin)
  const { readFile } = await import('node:fs/promises')
  return readFile(path, 'utf8').catch(cause => {
    throw new PalimpsestError('FILE_NOT_FOUND', `Cannot read ${path}: ${reasonOf(cause)}.`, { path }, cause)
  })
}

/** Writes a file that the user has named. An existing one is replaced, unless it must be `fresh`. */
export async function writeOutput(path: string, text: string, { fresh = false } = {}): Promise<void> {
  const { writeFile } = await import('node:fs/promises')
  await writeFile(path, text, { flag: fresh ? 'wx' : 'w' }).catch(cause => {
    if (cause.code === 'EEXIST') {
      throw new PalimpsestError('ALREADY', `${path} already exists. Overwrite it with --force.`, { path }, cause)
    }
    throw new PalimpsestError('PATH_REFUSED', `Cannot write ${path}: ${reasonOf(cause)}.`, { path }, cause)
  })
}

/** A value from the text of a file that must be JSON. */
export function jsonIn(text: string, path: string): unknown {
  try {
    return parseJson(text)
  } catch (cause) {
    const name = path === '-' ? 'stdin' : path
    throw new PalimpsestError('FORMAT_BROKEN', `${name} is not valid JSON: ${reasonOf(cause)}.`, { path }, cause)
  }
}

export function reasonOf(error: unknown): string {
  return messageOf(error).split('\n')[0]!.replace(/\.$/, '')
}
