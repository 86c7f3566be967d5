/**
 * `config`: shows settings with their source, and changes them in palimpsest.json. The rest of the file's text is
 * unchanged.
 */
import { PalimpsestError } from '../../model/errors.ts'
import { parseJson } from '../../model/json.ts'
import type { Setting, SettingsGiven } from '../../session/settings.ts'
import { type Context, defineCommand, listIn, type Report } from '../terminal/command.ts'
import { printable, table } from '../terminal/output.ts'

export const config = defineCommand({
  name: 'config',
  summary: 'show settings and where they come from, and change them',
  usage: '[list|get|set|unset] [KEY] [VALUE]',
  details:
    'KEY is a path in palimpsest.json, such as keep or agent.limits.steps. VALUE is JSON, or a word. The whole file is checked\n' +
    'before it is written. A running server uses the new value from the next call on; changes to agent, models, publicUrl and\n' +
    'noticeInAnswers take effect when it is restarted. Keys: docs/config.md.',
  examples: [
    'palimpsest config',
    'palimpsest config set keep more',
    'palimpsest config get policy',
    'palimpsest config unset keep',
  ],
  options: {},
  async run(context) {
    const [action = 'list', key, value] = context.args
    if (action === 'list' && key === undefined) return list(await ownSettings(context))
    if (action === 'get' && key !== undefined && value === undefined) return get(await ownSettings(context), key)
    if (action === 'set' && key !== undefined && value !== undefined) return change(context, key, value)
    if (action === 'unset' && key !== undefined && value === undefined) return change(context, key)
    throw new PalimpsestError(
      'INVALID_INPUT',
      'Use config list, config get KEY, config set KEY VALUE or config unset KEY.',
      { action },
    )
  },
})

async function ownSettings({ home, io, values }: Context): Promise<Setting[]> {
  const { settingsOf } = await import('../../session/settings.ts')
  const { PROVIDERS } = await import('../proxy/upstream.ts')
  const flags: SettingsGiven['flags'] = 'home' in values ? { home: { value: home, flag: '--home' } } : {}
  return settingsOf({ home, env: io.env, flags, upstreams: PROVIDERS })
}

function list(settings: readonly Setting[]): Report {
  return {
    json: { settings },
    *text(paint) {
      const rows = settings.map(({ key, value, source, from }) => [
        printable(key),
        printable(asText(value)),
        from === null ? source : `${source} (${printable(from)})`,
      ])
      yield* table(['*KEY', 'VALUE', 'FROM'], rows, paint)
    },
  }
}

function get(settings: readonly Setting[], key: string): Report {
  const found = settings.filter(setting => setting.key === key || setting.key.startsWith(`${key}.`))
  if (found.length === 0) {
    throw new PalimpsestError('INVALID_INPUT', `${key} is not set. List all settings: palimpsest config`, { key })
  }
  const [first] = found
  if (found.length > 1 || first!.key !== key) return list(found)
  return { json: first, text: () => `${printable(asText(first!.value))}\n` }
}

const asText = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))

async function change({ home }: Context, key: string, value?: string): Promise<Report> {
  const { changeSetting } = await import('../../session/settings.ts')
  const json = value === undefined ? undefined : raw(key, value)
  const path = await changeSetting(home, key.split('.'), json)
  const said = json === undefined ? `${key} is no longer set` : `${key} is ${asText(parseJson(json))}`
  return {
    json: { key, value: json === undefined ? null : parseJson(json), file: path },
    text: () => `${said}, in ${path}\n`,
  }
}

/** The typed value as JSON: words that are not JSON are a string, and the names of tools a list. */
function raw(key: string, value: string): string {
  try {
    parseJson(value)
    return value
  } catch {
    return JSON.stringify(key === 'protect' ? listIn(value) : value)
  }
}
