/**
 * A persona: a small JSON file with a name, a system prompt, tools, a model and a temperature.
 *
 * The package ships some; a user's own are in the home, as `personas/NAME.json`, and take precedence. A file is
 * checked when it is read: an error names the file and the key.
 */
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { changeOwnFile } from '../files/atomic.ts'
import { PalimpsestError } from '../model/errors.ts'
import { parseJson } from '../model/json.ts'

/** Tools by group; a persona may also name single tools. */
export const TOOL_GROUPS = ['files', 'shell', 'context', 'memory', 'workspace', 'delegate'] as const
export type ToolGroup = (typeof TOOL_GROUPS)[number]

const NAME = /^[a-z0-9][a-z0-9_-]{0,39}$/

const personaSchema = z.strictObject({
  $schema: z.string().optional(),
  name: z.string().regex(NAME, 'a name has 1–40 letters a–z, digits, - or _'),
  description: z.string().max(300).optional().describe('One line for lists.'),
  systemPrompt: z.string().min(1).describe('Who the agent is and how it works.'),
  tools: z.array(z.string().min(1)).optional().describe('Groups or single tools (all groups).'),
  model: z.string().min(1).optional(),
  temperature: z.number().min(0).max(2).optional(),
  memoryHeading: z.string().min(1).max(100).optional().describe('The heading above approved memory.'),
  memorySubject: z
    .string()
    .min(1)
    .max(40)
    .optional()
    .describe('The person that memory is about, as the memory tools call them: user.'),
})

export type Persona = z.infer<typeof personaSchema>

export type PersonaInfo = Persona & { source: 'package' | 'home'; path: string }

const DEFAULT_PERSONA = 'default'
const CHOSEN = 'chosen'
const SHIPPED = fileURLToPath(new URL('../../personas/', import.meta.url))

/** All personas by name; one in the home hides one of the package with the same name. */
export async function listPersonas(home: string): Promise<PersonaInfo[]> {
  const found = new Map<string, PersonaInfo>()
  for (const info of await personasIn(SHIPPED, 'package')) found.set(info.name, info)
  for (const info of await personasIn(join(home, 'personas'), 'home')) found.set(info.name, info)
  return [...found.values()].sort((a, b) => a.name.localeCompare(b.name))
}

export async function findPersona(home: string, name: string): Promise<PersonaInfo> {
  for (const [folder, source] of places(home)) {
    const path = join(folder, `${name}.json`)
    const text = NAME.test(name) ? await readIfThere(path) : undefined
    if (text !== undefined) return { ...parsePersona(text, path), source, path }
  }
  const names = (await listPersonas(home)).map(persona => persona.name)
  throw new PalimpsestError('PERSONA_NOT_FOUND', `There is no persona ${name}; there are ${names.join(', ')}.`, {
    persona: name,
    names,
  })
}

export async function createPersona(home: string, persona: Persona): Promise<string> {
  const checked = parsePersona(JSON.stringify(persona), persona.name)
  const folder = join(home, 'personas')
  const path = join(folder, `${checked.name}.json`)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await changeOwnFile(path, { isPrivate: true }, now => {
    if (now === null) return `${JSON.stringify(checked, null, 2)}\n`
    throw new PalimpsestError('ALREADY', `The persona ${checked.name} already exists: edit ${path}.`, { path })
  })
  return path
}

/** Makes a persona the default for new sessions of this home. */
export async function choosePersona(home: string, name: string): Promise<PersonaInfo> {
  const persona = await findPersona(home, name)
  const folder = join(home, 'personas')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await changeOwnFile(join(folder, CHOSEN), { isPrivate: true }, () => `${name}\n`)
  return persona
}

export async function chosenPersona(home: string): Promise<string> {
  return (await readIfThere(join(home, 'personas', CHOSEN)))?.trim() || DEFAULT_PERSONA
}

/** The prefix of `about.client` for our own agents. */
const CLIENT = 'palimpsest:'

export function clientOf({ name }: Pick<Persona, 'name'>): string {
  return `${CLIENT}${name}`
}

/** The persona with which our agent last ran in a session; undefined for another client. */
export function personaOf(client: string | undefined): string | undefined {
  return client?.startsWith(CLIENT) ? client.slice(CLIENT.length) : undefined
}

function places(home: string): [folder: string, source: PersonaInfo['source']][] {
  return [
    [join(home, 'personas'), 'home'],
    [SHIPPED, 'package'],
  ]
}

async function personasIn(folder: string, source: PersonaInfo['source']): Promise<PersonaInfo[]> {
  const names = await readdir(folder).catch(() => [])
  return Promise.all(
    names
      .filter(name => name.endsWith('.json'))
      .map(async name => {
        const path = join(folder, name)
        return { ...parsePersona(await readFile(path, 'utf8'), path), source, path }
      }),
  )
}

export function parsePersona(text: string, path: string): Persona {
  let value: unknown
  try {
    value = parseJson(text)
  } catch (cause) {
    throw new PalimpsestError('CONFIG_INVALID', `${path} is not JSON: ${cause}`, { source: path }, cause)
  }
  const parsed = personaSchema.safeParse(value)
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map(({ path: at, message }) => `${at.join('.') || 'the file'}: ${message}`)
  throw new PalimpsestError('CONFIG_INVALID', `${path}: ${problems.join('; ')}`, { source: path, problems })
}

async function readIfThere(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(error => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    throw error
  })
}
