/** `config`: what is set, where it came from, and setting it. The file is palimpsest.json; the rest of its text stays. */
import { PalimpsestError } from '../../model/errors.ts'
import { isRecord, parseJson } from '../../model/json.ts'
import { type Context, defineCommand, type Report } from '../terminal/command.ts'
import { printable, table } from '../terminal/output.ts'

type Source = 'default' | 'file' | 'environment' | 'flag'
type Setting = { key: string; value: unknown; source: Source; from: string | null }

/** Settings that the environment has a word in; it wins over the file. */
const VARIABLES: Record<string, string> = {
  home: 'PALIMPSEST_HOME',
  'agent.workspace': 'PALIMPSEST_WORKSPACE',
  'agent.user': 'PALIMPSEST_USER',
  'upstreams.anthropic': 'ANTHROPIC_BASE_URL',
  'upstreams.openai': 'OPENAI_BASE_URL',
  'upstreams.gemini': 'GOOGLE_GEMINI_BASE_URL',
}

export const config = defineCommand({
  name: 'config',
  summary: 'say what is set and where it came from, and set it',
  usage: '[list|get|set|unset] [KEY] [VALUE]',
  details:
    'KEY is a path in palimpsest.json, such as keep or agent.limits.steps. VALUE is JSON, or a word. The file is checked as a\n' +
    'whole before it is written. A service takes what was set when it is started again. Keys: docs/config.md.',
  examples: [
    'palimpsest config',
    'palimpsest config set keep more',
    'palimpsest config get policy',
    'palimpsest config unset keep',
  ],
  options: {},
  async run(context) {
    const [action = 'list', key, value] = context.args
    if (action === 'list' && key === undefined) return list(await settingsOf(context))
    if (action === 'get' && key !== undefined && value === undefined) return get(await settingsOf(context), key)
    if (action === 'set' && key !== undefined && value !== undefined) return change(context, key, value)
    if (action === 'unset' && key !== undefined && value === undefined) return change(context, key)
    throw new PalimpsestError('INVALID_INPUT', 'config takes list, get KEY, set KEY VALUE, or unset KEY.', { action })
  },
})

async function settingsOf({ home, io, values }: Context): Promise<Setting[]> {
  const { configPath, readConfig } = await import('../../session/config.ts')
  const { DEFAULT_PLANNER } = await import('../../model/defaults.ts')
  const { PROVIDERS } = await import('../proxy/upstream.ts')
  const path = configPath(home)
  const found = new Map<string, Setting>()
  const put = (key: string, value: unknown, source: Source, from: string | null = null) =>
    found.set(key, { key, value, source, from })
  put('policy', DEFAULT_PLANNER, 'default')
  put('keep', 'normal', 'default')
  for (const [name, url] of Object.entries(PROVIDERS)) put(`upstreams.${name}`, url, 'default')
  put('home', home, 'home' in values ? 'flag' : 'default', 'home' in values ? '--home' : null)
  const file: unknown = (await readConfig(path, { mustExist: false })) ?? {}
  for (const [key, value] of leaves(file)) put(key, value, 'file', path)
  for (const [key, name] of Object.entries(VARIABLES)) {
    const value = io.env[name]
    if (value && found.get(key)?.source !== 'flag') put(key, value, 'environment', name)
  }
  return [...found.values()].sort((a, b) => a.key.localeCompare(b.key))
}

/** Every value with the path to it; lists are values. */
function* leaves(value: unknown, path: readonly string[] = []): Generator<[string, unknown]> {
  if (!isRecord(value)) return void (path.length > 0 && (yield [path.join('.'), value]))
  for (const [name, inner] of Object.entries(value)) if (name !== '$schema') yield* leaves(inner, [...path, name])
}

function list(settings: readonly Setting[]): Report {
  return {
    json: { settings },
    *text(paint) {
      const columns = [{ name: 'KEY', paint: paint.bold }, { name: 'VALUE' }, { name: 'FROM' }]
      const rows = settings.map(({ key, value, source, from }) => [
        printable(key),
        printable(asText(value)),
        from === null ? source : `${source} (${printable(from)})`,
      ])
      yield* table(columns, rows, paint)
    },
  }
}

function get(settings: readonly Setting[], key: string): Report {
  const found = settings.filter(setting => setting.key === key || setting.key.startsWith(`${key}.`))
  if (found.length === 0) {
    throw new PalimpsestError('INVALID_INPUT', `${key} is not set. List what is: palimpsest config`, { key })
  }
  const [first] = found
  if (found.length > 1 || first!.key !== key) return list(found)
  return { json: first, text: () => `${printable(asText(first!.value))}\n` }
}

const asText = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))

async function change({ home }: Context, key: string, value?: string): Promise<Report> {
  const { configPath, parseConfig } = await import('../../session/config.ts')
  const { removeSetting, writeRawSetting } = await import('../../files/settings-text.ts')
  const { rename, writeFile } = await import('node:fs/promises')
  const { textOf } = await import('./agents.ts')
  const path = configPath(home)
  const at = key.split('.')
  const before = textOf(path)
  const after =
    value === undefined ? removeSetting('json', before, at) : writeRawSetting('json', before, at, raw(value))
  if (after.trim() !== '') parseConfig(parseJson(after.replace(/^\uFEFF/, '')), path)
  await writeFile(`${path}.${process.pid}.tmp`, after)
  await rename(`${path}.${process.pid}.tmp`, path)
  const said = value === undefined ? `${key} is no longer set` : `${key} is ${asText(parseJson(raw(value)))}`
  return {
    json: { key, value: value === undefined ? null : parseJson(raw(value)), file: path },
    text: () => `${said}, in ${path}\n`,
  }
}

/** What was typed as JSON: a word that is none is a string. */
function raw(value: string): string {
  try {
    parseJson(value)
    return value
  } catch {
    return JSON.stringify(value)
  }
}
