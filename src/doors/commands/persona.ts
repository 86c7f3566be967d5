/** `persona`: lists, shows, creates and chooses personas of the agent. */
import { PalimpsestError } from '../../model/errors.ts'
import { type Context, defineCommand, type Report, readInput } from '../terminal/command.ts'
import { printable, table } from '../terminal/output.ts'

const OPTIONS = {
  prompt: { type: 'string', value: 'TEXT', about: 'create: the system prompt' },
  file: { type: 'string', value: 'FILE', about: 'create: the system prompt from a file, or from stdin with -' },
  description: { type: 'string', value: 'TEXT', about: 'create: one line for the list' },
  tools: { type: 'string', value: 'LIST', about: 'create: groups or tools, separated by commas (all groups)' },
  model: { type: 'string', short: 'm', value: 'NAME', about: 'create: its model' },
  temperature: { type: 'string', value: 'T', about: 'create: from 0 to 2 (0.5)' },
} as const

type PersonaContext = Context<typeof OPTIONS>

export const persona = defineCommand({
  name: 'persona',
  summary: 'list, show, create and choose personas of the agent',
  usage: 'list|show|create|use [NAME]',
  details:
    'Groups of tools: files, shell, context, memory, workspace, delegate. Your own personas are JSON files in the home\n' +
    '(personas/NAME.json), which you can edit. use makes a persona the default for new sessions.',
  examples: [
    'palimpsest persona list',
    'palimpsest persona show default',
    'palimpsest persona create writer --prompt "You edit texts with a light hand." --tools files,memory',
    'palimpsest persona use writer',
  ],
  options: OPTIONS,
  async run(context) {
    const [action = '', name] = context.args
    if (action === 'list' && name === undefined) return list(context)
    if (name !== undefined && action === 'show') return show(context, name)
    if (name !== undefined && action === 'create') return create(context, name)
    if (name !== undefined && action === 'use') return use(context, name)
    throw new PalimpsestError('INVALID_INPUT', 'Use persona list, or persona show, create or use with a name.', {
      action,
    })
  },
})

async function list({ home }: PersonaContext): Promise<Report> {
  const { chosenPersona, listPersonas } = await import('../../agent/personas.ts')
  const chosen = await chosenPersona(home)
  const personas = await listPersonas(home)
  return {
    json: { chosen, personas },
    *text(paint) {
      const rows = personas.map(({ name, source, description = '' }) => {
        return [name === chosen ? `${name} *` : name, source, printable(description)]
      })
      yield* table(['*persona', 'from', 'what'], rows, paint)
    },
    notes: ['* is the default for new sessions.'],
  }
}

async function show({ home }: PersonaContext, name: string): Promise<Report> {
  const { findPersona } = await import('../../agent/personas.ts')
  const { source, path, ...found } = await findPersona(home, name)
  const text = `${printable(JSON.stringify(found, null, 2))}\n`
  return { json: { ...found, source, path }, text: () => text, notes: [path] }
}

async function create({ home, values, io }: PersonaContext, name: string): Promise<Report> {
  const { createPersona } = await import('../../agent/personas.ts')
  const { toolsNamed } = await import('../../agent/toolbox.ts')
  const systemPrompt = values.file === undefined ? values.prompt : (await readInput(values.file, io)).trim()
  if (!systemPrompt) throw new PalimpsestError('INVALID_INPUT', 'Give the system prompt with --prompt or --file.')
  const tools = values.tools?.split(',').map(tool => tool.trim())
  if (tools) toolsNamed(tools)
  const made = {
    name,
    systemPrompt,
    ...(values.description === undefined ? {} : { description: values.description }),
    ...(tools ? { tools } : {}),
    ...(values.model === undefined ? {} : { model: values.model }),
    ...(values.temperature === undefined ? {} : { temperature: Number(values.temperature) }),
  }
  const path = await createPersona(home, made)
  return { json: { ...made, path }, text: () => `${path}\n`, notes: [`Use it: palimpsest persona use ${name}`] }
}

async function use({ home }: PersonaContext, name: string): Promise<Report> {
  const { choosePersona } = await import('../../agent/personas.ts')
  const { description = '' } = await choosePersona(home, name)
  return { json: { chosen: name }, text: () => `New sessions now use ${name}: ${printable(description)}\n` }
}
