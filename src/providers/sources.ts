/**
 * Prices and windows from tables that others maintain: models.dev's document, LiteLLM's table, or a table in our own
 * form. They say nothing about cache matching, cache lifetimes and bound reasoning. So only numbers are taken, and only
 * for models in our table: differing numbers become a row of the user.
 */
import { z } from 'zod'
import { type Band, factorOf, type Model, type ModelTable, modelInfo } from './models.ts'
import { type Row, table, tableSchema } from './table.ts'

/** Dollars per million tokens, as a source gives them. */
type Listed = { window?: number; input: number; output: number; read?: number; write?: number; bands?: Band[] }

const price = z.number().min(0)
const modelsDev = z.record(
  z.string(),
  z.object({
    models: z.record(
      z.string(),
      z.object({
        cost: z
          .object({ input: price, output: price, cache_read: price.optional(), cache_write: price.optional() })
          .optional(),
        limit: z.object({ context: z.number() }).optional(),
      }),
    ),
  }),
)
const liteLlm = z.record(z.string(), z.record(z.string(), z.unknown()))

/** The rows of a document that differ from our table, for models in our table. `undefined`: the form is unknown. */
export function rowsFrom(document: unknown, source: string): ModelTable | undefined {
  const find = finderFor(document)
  if (!find) return undefined
  const rows: ModelTable = {}
  for (const row of table.models) {
    const listed = find(row)
    const changed = listed && differences(modelInfo(row.id), listed)
    if (changed) rows[row.id] = { ...changed, source }
  }
  return rows
}

function finderFor(document: unknown): ((row: Row) => Listed | undefined) | undefined {
  const own = tableSchema.safeParse(document)
  if (own.success) return row => fromOwn(own.data.models.find(({ id }) => id === row.id))
  const dev = modelsDev.safeParse(document)
  if (dev.success) return row => fromModelsDev(row, dev.data)
  const lite = liteLlm.safeParse(document)
  const isLite = lite.success && Object.values(lite.data).some(entry => 'input_cost_per_token' in entry)
  return isLite ? row => fromLiteLlm(lite.data[row.id]) : undefined
}

function fromOwn(row: Row | undefined): Listed | undefined {
  const prices = row?.prices.at(-1)
  if (!row || !prices) return undefined
  const { input, output, read, write } = prices
  const [first = input] = Object.values(write)
  return { window: row.maxInput ?? row.window, input, output, read, write: first, bands: row.bands ?? [] }
}

/** Takes the maker's own listing; a reseller's listing has the reseller's prices. */
function fromModelsDev({ id, provider }: Row, document: z.infer<typeof modelsDev>): Listed | undefined {
  const names = [provider.replace(/-5\.6$/, ''), ...(MAKERS[provider] ?? [])]
  const found = names.map(name => document[name]?.models[id]).find(model => model?.cost)
  if (!found?.cost) return undefined
  const { input, output, cache_read: read, cache_write: write } = found.cost
  return { input, output, ...(read ? { read } : {}), ...(write ? { write } : {}), ...windowOf(found.limit?.context) }
}

const MAKERS: Record<string, string[]> = { other: ['moonshotai', 'zai', 'minimax', 'xai', 'mistral'] }

function fromLiteLlm(entry: Record<string, unknown> | undefined): Listed | undefined {
  const dollars = (key: string) =>
    typeof entry?.[key] === 'number' ? Number((entry[key] * 1e6).toPrecision(6)) : undefined
  const [input, output] = [dollars('input_cost_per_token'), dollars('output_cost_per_token')]
  if (!entry || input === undefined || output === undefined) return undefined
  const [read, write] = [dollars('cache_read_input_token_cost'), dollars('cache_creation_input_token_cost')]
  const bands = Object.keys(entry).flatMap(key => {
    const above = /^input_cost_per_token_above_(\d+)k_tokens$/.exec(key)?.[1]
    const [more, out] = [dollars(key), dollars(`output_cost_per_token_above_${above}k_tokens`)]
    if (above === undefined || more === undefined) return []
    return { above: Number(above) * 1000, input: factorOf(more, input), output: factorOf(out ?? output, output) }
  })
  return {
    input,
    output,
    ...(read ? { read } : {}),
    ...(write ? { write } : {}),
    ...windowOf(entry['max_input_tokens']),
    ...(bands.length > 0 ? { bands } : {}),
  }
}

function windowOf(window: unknown): { window?: number } {
  return typeof window === 'number' && window >= 1000 ? { window } : {}
}

/** The differing numbers of a source, as fields of a model. A window counts only if it is larger than ours. */
function differences(model: Model, { window, input, output, read, write, bands }: Listed): Partial<Model> | undefined {
  const found: Partial<Model> = {}
  if (input !== model.input) found.input = input
  if (output !== model.output) found.output = output
  if (read !== undefined && input > 0 && factorOf(read, input) !== model.read) found.read = factorOf(read, input)
  if (write !== undefined && input > 0 && factorOf(write, input) !== model.write) found.write = factorOf(write, input)
  if (window !== undefined && window > model.window && model.bands.length === 0) found.window = window
  if (bands && JSON.stringify(bands) !== JSON.stringify(model.bands)) found.bands = bands
  return Object.keys(found).length > 0 ? found : undefined
}
