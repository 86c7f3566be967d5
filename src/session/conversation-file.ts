/**
 * A conversation in a file: an agent's transcript, or messages in a provider's form (the list itself, or a request
 * that contains it). The format is detected from the content.
 *
 * `healConversation` gives the same conversation in a form that a provider accepts. It goes through a ledger in
 * memory, so it makes the same repairs as the engine, and the result lists them.
 */
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { fromAnthropic, toAnthropic } from '../formats/adapters/anthropic.ts'
import { fromOpenAIChat, toOpenAIChat } from '../formats/adapters/openai-chat.ts'
import { fromOpenAIResponses, toOpenAIResponses } from '../formats/adapters/openai-responses.ts'
import type { Wire } from '../formats/adapters/original.ts'
import { diagnose } from '../formats/doctor.ts'
import { readTranscript } from '../formats/transcripts/read-transcript.ts'
import type { Problem } from '../formats/transcripts/transcript.ts'
import { type WireDialect, type WireForm, wireFormOf } from '../formats/wire-form.ts'
import { isPalimpsestError, PalimpsestError } from '../model/errors.ts'
import { tryJson } from '../model/json.ts'
import type { Dialect, Message, Part } from '../model/types.ts'
import { isKnownModel, modelInfo } from '../providers/models.ts'
import type { Violation } from '../view/legality.ts'
import { openPalimpsest } from './engine.ts'

export type Conversation = {
  id: string
  messages: Message[]
  violations: Violation[]
  /** The repairs that healing makes. */
  repairs: string[]
  /** Messages at the beginning that the file does not count as messages: a separate system prompt. */
  offset: number
  model: string
  write: (messages: readonly Message[]) => unknown
  /** The messages without violations of the tool-call rules; calls may still lack a result. */
  healed: Message[]
}

export type ConversationFile = { format: string; conversations: Conversation[]; problems: Problem[] }

/** One model of each dialect, to look up the rules of that dialect. */
const MODELS: Record<WireDialect, string> = {
  anthropic: 'claude-sonnet-4-5',
  'openai-chat': 'gpt-4o',
  'openai-responses': 'gpt-5',
}

export async function readConversations(path: string, dialect?: WireDialect): Promise<ConversationFile> {
  if (dialect) return readWire(path, dialect)
  try {
    return await readAgentFile(path)
  } catch (error) {
    if (!isPalimpsestError(error) || error.code !== 'FORMAT_UNKNOWN') throw error
    return (await readWireIfAny(path)) ?? fail(error)
  }
}

export async function healConversation(
  conversation: Conversation,
): Promise<{ output: unknown; repairs: string[]; left: Violation[] }> {
  const pal = await openPalimpsest({ home: ':memory:', clock: () => 0 })
  const session = await pal.session('healed', { model: conversation.model })
  await session.append(...conversation.healed)
  const { messages, report } = await session.view({ plan: false })
  const repairs = [...conversation.repairs, ...session.edits().map(({ edit }) => edit.why)]
  await pal.close()
  return { output: conversation.write(messages.map(unmarked)), repairs, left: report }
}

async function readAgentFile(path: string): Promise<ConversationFile> {
  const { format, sessions, problems } = await readTranscript(path)
  const conversations = sessions.map(({ id, messages, model = '' }) =>
    toConversation({ id, messages, model, offset: 0, write: healed => ({ messages: healed }) }),
  )
  return { format, conversations, problems }
}

async function readWireIfAny(path: string): Promise<ConversationFile | undefined> {
  const value = tryJson(await readFile(path, 'utf8').catch(() => ''))
  const form = value === undefined ? undefined : wireFormOf(value)
  return form && toFile(path, form)
}

async function readWire(path: string, dialect: WireDialect): Promise<ConversationFile> {
  const text = await readFile(path, 'utf8').catch(cause => {
    throw new PalimpsestError(
      'FILE_NOT_FOUND',
      `Cannot open ${path}. Check that it exists and can be read.`,
      { path },
      cause,
    )
  })
  const value = tryJson(text)
  if (value === undefined) throw new PalimpsestError('FORMAT_BROKEN', `${path} is not valid JSON.`, { path })
  const form = wireFormOf(value, dialect)
  if (form) return toFile(path, form)
  throw new PalimpsestError('FORMAT_UNKNOWN', `${path} contains no list of messages.`, { path })
}

function toFile(path: string, form: WireForm): ConversationFile {
  const { dialect } = form
  const id = basename(path).replace(/\.json$/, '')
  const model = dialect === 'neutral' ? '' : MODELS[dialect]
  const { messages, offset } = readForm(form)
  const write = (healed: readonly Message[]) => writeForm(form, healed)
  return { format: dialect, conversations: [toConversation({ id, messages, model, offset, write })], problems: [] }
}

type Read = Pick<Conversation, 'id' | 'messages' | 'model' | 'offset' | 'write'>

function toConversation(read: Read): Conversation {
  const dialect: Dialect | undefined = isKnownModel(read.model) ? modelInfo(read.model).dialect : undefined
  const { violations, messages: healed, healed: repairs } = diagnose(read.messages, dialect)
  return { ...read, model: read.model || 'gpt-4o', violations, healed, repairs }
}

function readForm({ dialect, list, around }: WireForm): { messages: Message[]; offset: number } {
  switch (dialect) {
    case 'neutral':
      return { messages: list as Message[], offset: 0 }
    case 'anthropic': {
      const system = around['system'] as string | unknown[] | undefined
      return { messages: fromAnthropic(list as never, system), offset: system === undefined ? 0 : 1 }
    }
    case 'openai-chat':
      return { messages: fromOpenAIChat(list as never), offset: 0 }
    case 'openai-responses': {
      const { instructions } = around
      const own = typeof instructions === 'string' ? instructions : undefined
      return { messages: fromOpenAIResponses(list, own), offset: own === undefined ? 0 : 1 }
    }
  }
}

function writeForm({ dialect, around, key }: WireForm, messages: readonly Message[]): unknown {
  const put = (list: unknown, more: Wire = {}) => (key === undefined ? list : { ...around, ...more, [key]: list })
  switch (dialect) {
    case 'neutral':
      return put(messages)
    case 'anthropic': {
      const prompt = toAnthropic(messages)
      return put(prompt.messages, prompt.system === undefined ? {} : { system: prompt.system })
    }
    case 'openai-chat':
      return put(toOpenAIChat(messages))
    case 'openai-responses':
      return put(toOpenAIResponses(messages).input)
  }
}

/** Removes the view's marks, and times that the file did not have. */
function unmarked({ at, ...message }: Message): Message {
  const parts = message.parts.map(({ edit: _, ...part }): Part => part)
  return { ...message, parts, ...(at ? { at } : {}) }
}

function fail(error: unknown): never {
  throw error
}
