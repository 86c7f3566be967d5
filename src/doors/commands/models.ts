/** `models`: lists the known models, and updates them from a source that the user names. */

import { PalimpsestError } from '../../model/errors.ts'
import { amount, withCommas } from '../../model/text.ts'
import type { Model } from '../../providers/models.ts'
import { type Context, defineCommand, jsonIn, type Report, readInput, reasonOf } from '../terminal/command.ts'
import { printable, table } from '../terminal/output.ts'

const OPTIONS = {
  'cache-ttl': { type: 'string', value: 'NAME', about: 'show: prices at this cache lifetime, such as 1h' },
} as const

type ModelsContext = Context<typeof OPTIONS>

export const models = defineCommand({
  name: 'models',
  summary: 'list models with their windows, prices and caches, and update them',
  usage: '[list|show|update] [NAME]',
  details:
    'show takes a model name as clients send it. update takes a URL or a file: the document of models.dev, the table\n' +
    'of LiteLLM, or a table in the format of src/providers/models.json. Rows that differ from the built-in table are\n' +
    'written to palimpsest.json beside the home; your own rows are kept. See docs/models.md.',
  examples: [
    'palimpsest models',
    'palimpsest models show claude-opus-5-5 --cache-ttl 1h',
    'palimpsest models update https://models.dev/api.json',
  ],
  options: OPTIONS,
  async run(context) {
    const [action = 'list', name] = context.args
    if (action === 'list' && name === undefined) return list(context)
    if (action === 'show' && name !== undefined) return show(context, name)
    if (action === 'update' && name !== undefined) return update(context, name)
    throw new PalimpsestError(
      'INVALID_INPUT',
      'Use models list, models show NAME, or models update with a URL or a file.',
    )
  },
})

async function list({ home }: ModelsContext): Promise<Report> {
  const { allModels, modelInfo, PRICES_AS_OF } = await import('../../providers/models.ts')
  const { settingsFor } = await import('../../session/config.ts')
  const { models: own = {} } = await settingsFor(home)
  const all = [...new Set([...allModels().map(({ id }) => id), ...Object.keys(own)])].map(id => ({
    ...modelInfo(id, own),
    id,
  }))
  return {
    json: { asOf: PRICES_AS_OF, models: all },
    *text(paint) {
      const columns = ['*model', 'window', 'input', 'output', 'read', 'write', 'minutes', 'shape', 'reasoning']
      const rows = all.map(model => [printable(model.id), ...cells(model)])
      yield* table(columns, rows, paint)
    },
    notes: [`As of ${PRICES_AS_OF}. Dollars per million tokens; cache reads and writes as factors of the input price.`],
  }
}

function cells(model: Model): string[] {
  const { window, input, output, read, write, ttl, shape, binding } = model
  return [
    withCommas(window),
    `${input}`,
    `${output}`,
    `${read}`,
    `${write}`,
    `${ttl / 60_000}`,
    shape,
    BINDINGS[binding],
  ]
}

const BINDINGS: Record<Model['binding'], string> = { none: 'free', drop: 'bound, dropped', refuse: 'bound, refused' }

async function show({ home, values }: ModelsContext, name: string): Promise<Report> {
  const { isListedModel, modelInfo } = await import('../../providers/models.ts')
  const { settingsFor } = await import('../../session/config.ts')
  const { models: own = {} } = await settingsFor(home)
  const lifetime = values['cache-ttl']
  const model = modelInfo(name, own, lifetime === undefined ? {} : { cacheTtl: lifetime })
  if (lifetime !== undefined && !model.lifetimes.some(known => known.name === lifetime)) {
    const names = model.lifetimes.map(known => known.name).join(', ')
    throw new PalimpsestError('INVALID_INPUT', `${name} has no cache lifetime ${lifetime}. It has: ${names}.`)
  }
  const known = isListedModel(name) || Object.keys(own).length > 0
  const note = `${printable(name)} is not in the table: this is the strictest row of its family, ${model.id}.`
  return {
    json: model,
    text: () => `${printable(JSON.stringify(model, null, 2))}\n`,
    notes: known ? [] : [note],
  }
}

async function update({ home, io }: ModelsContext, source: string): Promise<Report> {
  const { rowsFrom } = await import('../../providers/sources.ts')
  const { configPath, updateModels } = await import('../../session/config.ts')
  const text = /^https?:\/\//.test(source) ? await download(source) : await readInput(source, io)
  const rows = rowsFrom(jsonIn(text, source), source)
  if (!rows) {
    const forms = "models.dev's document, LiteLLM's table, or a table like src/providers/models.json"
    throw new PalimpsestError('FORMAT_UNKNOWN', `${source} must be one of: ${forms}.`, { source })
  }
  const path = configPath(home)
  const { written, kept } = await updateModels(path, rows)
  const notes = kept.length > 0 ? [`Your own rows were kept: ${kept.map(printable).join(', ')}.`] : []
  return {
    json: { path, written, kept },
    *text() {
      yield written.length === 0
        ? 'Nothing in it differs from the built-in table.'
        : `${amount(written.length, 'row')} in ${printable(path)}: ${written.map(printable).join(', ')}`
    },
    notes,
  }
}

async function download(url: string): Promise<string> {
  try {
    const response = await fetch(url)
    if (response.ok) return await response.text()
    throw new Error(`it answered ${response.status}`)
  } catch (cause) {
    throw new PalimpsestError('FILE_NOT_FOUND', `Cannot read ${url}: ${reasonOf(cause)}.`, { url }, cause)
  }
}
