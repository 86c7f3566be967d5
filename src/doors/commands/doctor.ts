/**
 * `doctor`: lists what is wrong with a recorded conversation, by rule, and repairs it.
 *
 * Reads the transcript of any known agent, or messages in a provider's form. `--heal` writes messages that a provider
 * accepts: in the input's form for provider messages, as neutral messages for a transcript.
 */

import { isWireDialect, WIRE_DIALECTS, type WireDialect } from '../../formats/wire-form.ts'
import { PalimpsestError } from '../../model/errors.ts'
import { amount } from '../../model/text.ts'
import type { Conversation } from '../../session/conversation-file.ts'
import type { Violation } from '../../view/legality.ts'
import { defineCommand, writeOutput } from '../terminal/command.ts'
import { type Paint, printable } from '../terminal/output.ts'

type Finding = { session: string; messages: number; violations: (Violation & { role?: string })[] }

export const doctor = defineCommand({
  name: 'doctor',
  summary: 'find and repair errors in a transcript or a list of provider messages',
  usage: 'FILE',
  details:
    'FILE is a transcript of a known agent, or JSON in the format of Anthropic Messages, OpenAI Chat or OpenAI Responses:\n' +
    'a list of messages, or a whole request. Exits with 1 if rules are broken and nothing was repaired.\n' +
    'The rules are explained in docs/legality.md.',
  examples: ['palimpsest doctor session.jsonl', 'palimpsest doctor request.json --heal healed.json'],
  options: {
    heal: { type: 'string', value: 'OUT', about: 'write the repaired conversation to this file (- for stdout)' },
    session: { type: 'string', value: 'ID', about: 'the session to repair, if the file has several' },
    dialect: { type: 'string', value: 'NAME', about: 'anthropic, openai-chat or openai-responses (detected)' },
    force: { type: 'boolean', about: 'overwrite OUT if it exists' },
  },
  async run({ args, values, io }) {
    const { readConversations, healConversation } = await import('../../session/conversation-file.ts')
    const file = await readConversations(args[0]!, dialectOf(values.dialect))
    const sessions = file.conversations.map(toFinding)
    const { format, problems } = file
    const findings = { file: args[0], format, problems, sessions }
    const broken = problems.length + sessions.reduce((total, { violations }) => total + violations.length, 0)
    const { heal } = values
    if (heal === undefined) {
      return { json: { ...findings, healed: null }, text: paint => lines(findings, paint), exit: broken > 0 ? 1 : 0 }
    }
    const { output, repairs, left } = await healConversation(choose(file.conversations, values.session))
    const healed = `${JSON.stringify(output, null, 2)}\n`
    if (heal === '-') {
      io.stdout.write(healed)
      return undefined
    }
    await writeOutput(heal, healed, { fresh: values.force !== true })
    return {
      json: { ...findings, healed: { file: heal, repairs, left } },
      *text(paint) {
        yield* lines(findings, paint)
        for (const repair of repairs) yield `${paint.green('healed')}  ${printable(repair)}`
        for (const { rule, message } of left) yield `${paint.red('left')}  ${rule}: ${printable(message)}`
        yield `Written to ${heal}.`
      },
      exit: left.length > 0 ? 1 : 0,
    }
  },
})

function dialectOf(name: string | undefined): WireDialect | undefined {
  if (name === undefined || isWireDialect(name)) return name
  throw new PalimpsestError('INVALID_INPUT', `--dialect must be one of ${WIRE_DIALECTS.join(', ')}.`, { dialect: name })
}

function toFinding({ id, messages, violations, offset }: Conversation): Finding {
  const placed = violations.map(({ index, ...rest }) => {
    if (index === undefined) return rest
    const role = messages[index]?.role
    return { ...rest, index: index - offset, ...(role ? { role } : {}) }
  })
  return { session: id, messages: messages.length - offset, violations: placed }
}

type Findings = { format: string; problems: { line?: number; message: string }[]; sessions: Finding[] }

function* lines({ format, problems, sessions }: Findings, paint: Paint): Generator<string> {
  const messages = sessions.reduce((total, session) => total + session.messages, 0)
  yield `${format}: ${amount(sessions.length, 'session')}, ${amount(messages, 'message')}`
  for (const { line, message } of problems) {
    yield `${paint.red('damaged')}  ${line === undefined ? '' : `line ${line}: `}${printable(message)}`
  }
  for (const { session, violations } of sessions) {
    const name = sessions.length > 1 ? `${printable(session)}  ` : ''
    for (const violation of violations) yield `${paint.red(violation.rule)}  ${name}${placed(violation)}`
  }
  const broken = problems.length > 0 || sessions.some(({ violations }) => violations.length > 0)
  if (!broken) yield paint.green('No rules are broken.')
}

function placed({ message, index, role }: Finding['violations'][number]): string {
  const place = index === undefined ? '' : `message ${index}${role ? ` (${role})` : ''}: `
  return place + printable(message)
}

function choose(conversations: readonly Conversation[], id: string | undefined): Conversation {
  const found =
    id === undefined ? conversations.length === 1 && conversations[0] : conversations.find(one => one.id === id)
  if (found) return found
  const names = conversations.map(one => one.id)
  throw new PalimpsestError(
    id === undefined ? 'INVALID_INPUT' : 'SESSION_NOT_FOUND',
    `The file has ${conversations.length} sessions. Choose one with --session: ${names.slice(0, 10).join(', ')}`,
    { sessions: names },
  )
}
