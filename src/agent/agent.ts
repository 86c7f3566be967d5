/**
 * The agent: a loop of `run → step → query, execute` over a session.
 *
 * The ledger is the only state. A request is in it before the model is called, an answer before its calls are run, a
 * result before the model is called again. So a process may die at any point: the next one that opens the session
 * continues from there, and a call without a result is answered as interrupted, never run twice. The model sees the
 * session's view; the engine maintains it, not the loop.
 */

import { resolve } from 'node:path'
import { storeOf } from '../files/folder.ts'
import type { FileStore, Files } from '../files/store.ts'
import type { Memory } from '../memory/memory.ts'
import { defaultWorkspaceFolder } from '../memory/workspace.ts'
import type { Environment } from '../model/defaults.ts'
import { isPalimpsestError, messageOf, PalimpsestError } from '../model/errors.ts'
import { textOf } from '../model/leaves.ts'
import { amount, headOf } from '../model/text.ts'
import type { Edit, ImagePart, Message, TextPart, ToolCallPart } from '../model/types.ts'
import type { PlannerFactory } from '../policies/policy.ts'
import type { Palimpsest } from '../session/engine.ts'
import type { Session } from '../session/session.ts'
import { memoryTools, NO_MEMORY } from '../tools/memory.ts'
import { sourcesOf } from '../tools/provenance.ts'
import { agentContext, seenSessions } from '../tools/recall.ts'
import { sessionJournal } from '../tools/session-journal.ts'
import type { ToolResult } from '../tools/tool.ts'
import { callsIn } from '../view/legality.ts'
import { partId, recallToolIn, savingToolIn } from '../view/shown-texts.ts'
import type { AllowRules, Approve } from './approval.ts'
import { type Answer, ask } from './ask.ts'
import { Channel } from './channel.ts'
import { compactSession, type Range } from './compact.ts'
import type { AgentEvent, ContextUse, DoneReason } from './events.ts'
import type { AgentModel } from './model.ts'
import { clientOf, type Persona, personaOf } from './personas.ts'
import { proposeRepeated } from './preferences.ts'
import { buildPrompt, isOutdated, promptText } from './prompt.ts'
import { type Cost, costOfSession, LIMITS, type Limits, Spending } from './spending.ts'
import { type AgentTool, Toolbox, toolsNamed } from './toolbox.ts'
import { RETRY, type RetryOptions } from './trouble.ts'

export type AgentOptions = {
  pal: Palimpsest
  /** Without it the agent has no memory tools. */
  memory?: Memory
  /** The user whose memory it is; needed with `memory`. */
  user?: string
  /** The folder of the knowledge files. */
  workspace?: Files
  /** The folder that file tools and commands work in. */
  root: string
  persona: Persona
  model: AgentModel
  /** Asks a person. Without it, a call that needs approval and is not allowed is refused. */
  approve?: Approve
  allow?: AllowRules
  limits?: Partial<Limits>
  retry?: Partial<RetryOptions>
  /** The session's planner. An existing session keeps its own by default; a new one gets the preset `agent`. */
  planner?: string | PlannerFactory
  /** Groups and tools that replace the persona's. */
  toolNames?: readonly string[]
  tools?: readonly AgentTool[]
  env?: Environment
  clock?: () => number
  /** The session that this one works for. */
  parent?: string
  /** Whether the tool `recall` may search the other sessions of `pal`. */
  seesSessions?: boolean
}

/** A user's request: a text, or parts that may include images. */
export type AgentRequest = string | readonly (TextPart | ImagePart)[]

type RunOptions = { signal?: AbortSignal | undefined }
type Events<R = void> = AsyncGenerator<AgentEvent, R>
/** One turn: its spending, and the signal that stops it. */
type Turn = { signal: AbortSignal; spent: Spending }

export const AGENT_POLICY = 'agent'
const MAX_PROPOSALS_TOLD = 100

/** Opens or creates a session for an agent to work in. In another client's session the agent is a guest. */
export async function openAgent(session: string, options: AgentOptions): Promise<Agent> {
  const { persona, model, parent, root, workspace } = options
  // The daily log goes to the workspace that the agent is told about.
  const pal = workspace === undefined ? options.pal : options.pal.with({ workspace })
  const known = await pal.find(session)
  const planner = options.planner ?? (known ? undefined : AGENT_POLICY)
  const about = {
    client: clientOf(persona),
    project: root,
    ...(parent === undefined ? {} : { parent, reason: 'sub-agent' as const }),
  }
  const tools = toolsOf(options).map(({ name }) => name)
  const reading = pal.files.isTable ? FILE_READERS : [...FILE_READERS, 'run_command']
  const opened = await pal.session(session, {
    ...(planner === undefined ? {} : { planner }),
    model: model.name,
    ids: true,
    saveWith: savingToolIn(tools),
    recallWith: recallToolIn(tools) ?? false,
    readsFiles: reading.some(name => tools.includes(name)),
    about,
    asGuest: known?.about.client !== undefined && personaOf(known.about.client) === undefined,
  })
  return new Agent(opened, options)
}

export class Agent {
  readonly session: Session
  readonly persona: Persona
  readonly model: AgentModel
  readonly #options: AgentOptions
  readonly #limits: Limits
  readonly #toolbox: Toolbox
  readonly #toolNames: string[]
  #running = false
  #system: Message | undefined
  #opening: Promise<unknown> = Promise.resolve()

  /** Use `openAgent`. */
  constructor(session: Session, options: AgentOptions) {
    this.session = session
    this.persona = options.persona
    this.model = options.model
    this.#options = options
    this.#limits = { ...LIMITS, ...options.limits }
    const tools = toolsOf(options)
    this.#toolNames = tools.map(({ name }) => name)
    this.#toolbox = new Toolbox({
      tools,
      context: this.#context(),
      folders: {
        root: resolve(options.root),
        workspace: this.#workspace,
        allowed: options.allow?.folders ?? [],
        home: session.options.home && options.pal.home,
        kept: session.options.home === undefined ? undefined : options.pal.filesOf(session.id),
      },
      allow: options.allow ?? {},
      approve: options.approve,
      timeout: this.#limits.toolSeconds * 1_000,
    })
  }

  /**
   * Works on a request until it is answered, stopped, or at a limit. Ends with exactly one `done`. `history` holds
   * earlier messages from elsewhere.
   */
  run(request: AgentRequest, { history = [], ...options }: RunOptions & { history?: readonly Message[] } = {}): Events {
    return this.#turn(options, async () => {
      const parts = partsOf(request)
      await this.session.append(...history, { role: 'user', parts })
      await this.#learn(parts.map(textOf).join('\n'))
    })
  }

  /** Proposes a memory if the user has asked for the same in another session. Errors are ignored. */
  async #learn(text: string): Promise<void> {
    const { memory, user, pal, seesSessions, parent } = this.#options
    if (!memory || user === undefined || !seesSessions || parent !== undefined) return
    const said = { text, session: this.session.id, entry: this.session.fold.lastUser }
    await proposeRepeated({ pal, memory, user }, said).catch(() => [])
  }

  /** Continues an interrupted run; does nothing if the last request was answered. */
  resume(options: RunOptions = {}): Events {
    return this.#turn(options)
  }

  /** Replaces old entries, or the given range, with a summary; an edit by the user, which can be undone. */
  compact(range?: Range): Promise<Edit> {
    return compactSession(this.session, range)
  }

  /** What the session has used and cost so far. */
  cost(): Promise<Cost> {
    return costOfSession(this.#options.pal, this.session)
  }

  async *#turn({ signal }: RunOptions, begin?: () => Promise<void>): Events {
    if (this.#running) throw new PalimpsestError('ALREADY', 'The agent is working on a request. Stop it, or wait.')
    this.#running = true
    const turn = { signal: signal ?? new AbortController().signal, spent: new Spending() }
    try {
      const isFirst = !this.session.fold.entries.some(({ role }) => role === 'assistant')
      const known = isFirst ? [] : await this.#openProposals()
      yield* this.#mend()
      await this.#prepare()
      await begin?.()
      for await (const event of this.#loop(turn)) {
        if (event.type === 'done') yield* this.#tellOfProposals(known)
        yield event
      }
    } catch (error) {
      const stopped = signal?.aborted === true
      yield this.#done(turn, stopped ? 'aborted' : 'failed', stopped ? 'Stopped.' : messageOf(error))
    } finally {
      this.#running = false
    }
  }

  async *#loop(turn: Turn): Events {
    for (;;) {
      const answered = this.#answered()
      if (answered !== undefined) return yield this.#done(turn, 'answered', answered)
      const over = turn.spent.over(this.#limits)
      if (over) return yield this.#done(turn, over.reason, over.message)
      turn.signal.throwIfAborted()
      yield* this.#step(turn)
    }
  }

  /** One model call, and the tools that it calls. */
  async *#step(turn: Turn): Events {
    turn.spent.steps++
    const { message } = yield* this.#query(turn)
    yield* this.#execute(callsIn(message), turn)
  }

  /** Sends the view to the model, and records the answer. */
  async *#query(turn: Turn): Events<Answer> {
    const messages = yield* this.#view()
    const progress = { text: '' }
    const question = { messages, tools: this.#toolbox.definitions(), retry: this.#retry, signal: turn.signal, progress }
    try {
      const answer = yield* ask(this.model, question)
      await this.#record(answer)
      if (answer.usage) yield await this.#spend(answer, turn)
      return answer
    } catch (error) {
      if (turn.signal.aborted && progress.text.trim() !== '') await this.#keepPartial(progress.text)
      throw error
    }
  }

  /** Runs the calls of one step concurrently; each result is durable before it is reported. */
  async *#execute(calls: readonly ToolCallPart[], { signal, spent }: Turn): Events {
    if (calls.length === 0) return
    for (const { id, name, input } of calls) yield { type: 'call', id, name, input }
    const events = new Channel<AgentEvent>()
    const tell = (event: AgentEvent) => {
      if (event.type === 'delegated' && event.event.type === 'done') spent.money += event.event.cost
      events.push(event)
    }
    const left = new AbortController()
    const until = AbortSignal.any([signal, left.signal])
    const work = Promise.all(calls.map(call => this.#executeOne(call, tell, until))).finally(() => events.close())
    work.catch(() => undefined)
    try {
      yield* events
    } finally {
      // A reader that leaves early stops the running calls; their results are still recorded.
      left.abort()
      await work
    }
  }

  async #executeOne(call: ToolCallPart, tell: (event: AgentEvent) => void, signal: AbortSignal): Promise<void> {
    const { id, name } = call
    const { text, whole, isError = false } = await this.#toolbox.run(call, tell, signal)
    const output = text.toWellFormed()
    await this.session.append(resultMessage(call, whole?.toWellFormed() ?? output, isError))
    if (whole !== undefined) await this.#shorten(id, output)
    tell({ type: 'result', id, name, text: output, isError })
  }

  /** The ledger has the whole of a long output; the model gets the tool's excerpt, and how to read the rest. */
  async #shorten(id: string, text: string): Promise<void> {
    const entry = this.session.fold.entries.findLastIndex(({ message }) =>
      message?.parts.some(part => part.type === 'tool-result' && part.id === id),
    )
    const rest = `\n[All of it: recall(text="${partId(entry, 0, { type: 'tool-result' })}")]`
    const replacement = this.#toolNames.includes('recall') ? text + rest : text
    const why = 'a long output, shortened to its beginning and end'
    await this.session.apply([{ target: { type: 'part', entry, part: 0 }, replacement, why }], 'policy:long-output')
  }

  /** Adds an error result for each call of an earlier run that has none. */
  async *#mend(): Events {
    const { waiting } = await this.session.view({ plan: false })
    if (waiting.length === 0) return
    const names = new Map(this.#lastCalls().map(({ id, name }) => [id, name]))
    const calls = waiting.map(id => ({ id, name: names.get(id) ?? 'tool' }))
    for (const call of calls) await this.session.append(resultMessage(call, interruptedText(call.name), true))
    yield { type: 'interrupted', calls }
  }

  /** Appends the system prompt as the first entry, or replaces an outdated one by an edit. */
  async #prepare(): Promise<void> {
    const { persona, root, memory, user, parent } = this.#options
    const prompt = await buildPrompt({
      persona,
      tools: this.#toolNames,
      root: resolve(root),
      workspace: { folder: this.#workspace, now: this.#now },
      memory: memory && user !== undefined ? { memory, user } : undefined,
      now: this.#now(),
      isSubagent: parent !== undefined,
    })
    const system: Message = { role: 'system', parts: [{ type: 'text', text: promptText(prompt) }] }
    this.#system = system
    const { entries } = this.session.fold
    if (entries.length === 0) return void (await this.session.append(system))
    const [first] = (await this.session.view({ plan: false })).messages
    if (first?.role !== 'system' || !isOutdated(first.parts.map(textOf).join('\n'), prompt, this.#cacheIsCold())) return
    const why = 'the persona, the memory or the workspace has changed'
    const edit = { target: { type: 'entry' as const, entry: 0 }, replacement: { messages: [system] }, why }
    await this.session.apply([edit], 'engine')
  }

  async *#view(): Events<readonly Message[]> {
    const known = this.session.edits().length
    const { messages, decision, report } = await this.session.view()
    const made = this.session
      .edits()
      .slice(known)
      .map(({ edit }) => edit)
    if (made.length > 0) yield editsEvent(made, decision)
    const broken = report.find(({ rule }) => rule === 'too-many-bytes')
    if (broken) throw new PalimpsestError('TOO_LARGE', `${broken.message}. Make room: palimpsest chat has /compact.`)
    // A session that began elsewhere has no prompt of ours in its ledger.
    return messages[0]?.role === 'system' || !this.#system ? messages : [this.#system, ...messages]
  }

  async #record({ message, usage }: Answer): Promise<void> {
    await this.session.append(message).catch(async error => {
      // Some providers number their calls from the start in every answer.
      if (!isPalimpsestError(error) || error.code !== 'INVALID_MESSAGE' || callsIn(message).length === 0) throw error
      renameCalls(message, this.session.fold.entries.length)
      await this.session.append(message)
    })
    if (usage) await this.session.reportUsage(usage)
  }

  async #spend({ usage = {} }: Answer, { spent }: Turn): Promise<AgentEvent> {
    const cost = spent.add(usage, this.session.options.model)
    return { type: 'usage', usage, cost, context: this.#contextUse(usage) }
  }

  #contextUse({ input = 0, cacheRead = 0, cacheWrite = 0 }: NonNullable<Answer['usage']>): ContextUse {
    return { tokens: input + cacheRead + cacheWrite, window: this.session.options.model.window, cached: cacheRead }
  }

  /** Appends the text that arrived before the user stopped the answer. */
  async #keepPartial(text: string): Promise<void> {
    const parts = [{ type: 'text' as const, text: `${text.toWellFormed()}\n\n[Stopped by the user]` }]
    await this.session.append({ role: 'assistant', parts })
  }

  /** The last answer, if the session ends with one that calls no tools. */
  #answered(): string | undefined {
    const last = this.session.fold.entries.at(-1)
    if (last?.role === 'system') return ''
    if (last?.role !== 'assistant' || !last.message || callsIn(last.message).length > 0) return undefined
    return last.message.parts.flatMap(part => (part.type === 'text' ? part.text : [])).join('\n')
  }

  #lastCalls(): ToolCallPart[] {
    const { entries } = this.session.fold
    return entries.slice(-200).flatMap(({ message }) => (message ? callsIn(message) : []))
  }

  /** Ids of the proposals that wait for the user, newest first. */
  async #openProposals(): Promise<string[]> {
    const { memory, user } = this.#options
    if (!memory || user === undefined || !this.#toolNames.includes('read_memory_block')) return []
    return (await memory.proposals(user, { state: 'open', limit: MAX_PROPOSALS_TOLD })).map(({ id }) => id)
  }

  async *#tellOfProposals(known: readonly string[]): Events {
    const ids = await this.#openProposals()
    if (ids.some(id => !known.includes(id))) yield { type: 'proposals', user: this.#options.user!, ids }
  }

  #done({ spent }: Turn, reason: DoneReason, message: string): AgentEvent {
    return { type: 'done', reason, message, steps: spent.steps, cost: spent.money }
  }

  #cacheIsCold(): boolean {
    const last = this.session.fold.entries.findLast(({ role }) => role === 'assistant')
    return last === undefined || this.#now() - last.at > this.session.options.model.ttl
  }

  #context(): ConstructorParameters<typeof Toolbox>[0]['context'] {
    const { memory, user, persona, env = process.env, root, pal, seesSessions } = this.#options
    return {
      root: resolve(root),
      workspace: this.#workspace,
      now: this.#now,
      journal: sessionJournal(this.session),
      session: this.session,
      ...(seesSessions ? { sessions: seenSessions(pal), live: agentContext(pal) } : {}),
      env: { ...env, PALIMPSEST_AGENT: persona.name },
      memory: memory && user !== undefined ? memory.forAgent(user, persona.name) : NO_MEMORY,
      entries: () => [{ session: this.session.id, entry: this.session.fold.lastUser }],
      sources: text => sourcesOf(this.session, text),
      spawn: (task, tell, signal) => this.#spawn(task, tell, signal),
    }
  }

  /** A subagent works in its own session; its report is the result. */
  async #spawn(task: string, tell: (event: AgentEvent) => void, signal?: AbortSignal): Promise<ToolResult> {
    const child = await this.#openChild()
    const { id } = child.session
    let last: AgentEvent | undefined
    for await (const event of child.run(task, { signal })) {
      tell({ type: 'delegated', session: id, event })
      last = event
    }
    if (last?.type !== 'done') return { text: `The subagent (session ${id}) ended without a report.`, isError: true }
    const isError = last.reason !== 'answered'
    const how = isError ? `stopped (${last.reason})` : 'is done'
    return {
      text: `The subagent ${how} after ${amount(last.steps, 'step')} (session ${id}):\n\n${last.message}`,
      isError,
    }
  }

  /** Opens subagents one after the other, so that two of one step do not take the same name. */
  #openChild(): Promise<Agent> {
    const open = async () => {
      const id = await freeName(this.#options.pal, `${headOf(this.session.id, MAX_BASE_CHARS)}-sub`)
      const { planner = this.session.options.policy.name } = this.#options
      return openAgent(id, { ...this.#options, planner, parent: this.session.id })
    }
    const opened = this.#opening.then(open)
    this.#opening = opened.catch(() => undefined)
    return opened
  }

  get #workspace(): FileStore {
    return storeOf(this.#options.workspace ?? defaultWorkspaceFolder())
  }

  get #retry(): RetryOptions {
    return { ...RETRY, ...this.#options.retry }
  }

  get #now(): () => number {
    return this.#options.clock ?? Date.now
  }
}

/** The tools that can read files in a database. */
const FILE_READERS = ['read_file', 'str_replace_based_edit_tool']

/** The tools that an agent is given: a subagent cannot delegate, and tools for memory need a memory. */
function toolsOf({ persona, toolNames = persona.tools, tools: extra = [], memory, parent }: AgentOptions): AgentTool[] {
  const missing = new Set([
    ...(memory ? [] : memoryTools.map(({ name }) => name)),
    ...(parent === undefined ? [] : ['delegate']),
  ])
  const all = toolsNamed(toolNames, { extra, subject: persona.memorySubject ?? 'user' })
  return all.filter(({ name }) => !missing.has(name))
}

function partsOf(request: AgentRequest): Message['parts'] {
  return typeof request === 'string' ? [{ type: 'text', text: request.toWellFormed() }] : [...request]
}

function resultMessage({ id, name }: Pick<ToolCallPart, 'id' | 'name'>, output: string, isError: boolean): Message {
  return { role: 'tool', parts: [{ type: 'tool-result', id, name, output, ...(isError ? { isError } : {}) }] }
}

function interruptedText(name: string): string {
  return `[No result: ${name} was interrupted]\nThe program ended while it ran. It may have had effects: look before you run it again.`
}

function renameCalls(message: Message, entry: number): void {
  for (const [i, call] of callsIn(message).entries()) call.id = `${call.id || 'call'}-${entry}-${i}`
}

/** Edits without a planner's decision give their own reason. */
function editsEvent(edits: readonly Edit[], decision: string | undefined): AgentEvent {
  const ids = edits.map(({ id }) => id)
  const saved = edits.reduce((sum, edit) => sum + edit.saved, 0)
  return { type: 'edits', ids, saved, decision: decision ?? [...new Set(edits.map(({ why }) => why))].join('; ') }
}

/** Names of subagents contain at most this many characters of the session's name. */
const MAX_BASE_CHARS = 180

async function freeName(pal: Palimpsest, base: string): Promise<string> {
  for (let n = 1; ; n++) if (!(await pal.find(`${base}-${n}`))) return `${base}-${n}`
}
