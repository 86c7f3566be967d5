/**
 * The table of models as data, checked on first use, and the lookup of a row by the name that a client sends.
 *
 * Clients write one model in many ways: with a provider in front (`openrouter/anthropic/…`, `us.anthropic.…`), a date,
 * a version or a variant at the end (`-20251101`, `@20250514`, `-v1:0`, `:thinking`, `[1m]`), and with dots for dashes. Any
 * other difference means another model, so `claude-opus-4-9` is never taken for `claude-opus-4`.
 */
import { z } from 'zod'
import json from './models.json' with { type: 'json' }

const dollars = z.number().min(0)
const count = z.int().min(1)
const hour = z.int().min(0).max(24)
const day = z.string().regex(/^\d{4}-\d\d-\d\d$/)
const dialect = z.enum(['anthropic', 'openai-chat', 'openai-responses', 'gemini', 'ai-sdk', 'langchain'])
const shape = z.enum(['marked', 'breakpoints', 'intervals', 'prefix'])
const binding = z.enum(['none', 'drop', 'refuse'])
const lifetimes = z
  .record(z.string(), count)
  .describe('Milliseconds, by the name of the lifetime in requests; the default comes first')

export const tiersSchema = z
  .record(z.string(), z.number().gt(0))
  .describe('The price of a service tier or speed, as a factor')

const prices = z
  .strictObject({
    from: day.optional().describe('The first day on which these prices apply'),
    input: dollars,
    output: dollars,
    read: dollars.describe('An input token from the cache'),
    write: z.record(z.string(), dollars).describe('An input token written to the cache, by lifetime'),
  })
  .describe('US dollars per million tokens')

export const bandSchema = z
  .strictObject({ above: count, input: z.number().gt(0), output: z.number().gt(0) })
  .describe('Above this many input tokens, the whole request costs this multiple of the price')

const row = z.strictObject({
  id: z.string().min(1),
  provider: z.string().min(1),
  aliases: z.array(z.string().min(1)).optional(),
  window: count,
  maxInput: count.optional().describe('The most input tokens, if input may not fill the window'),
  dialect: dialect.optional(),
  lifetimes: lifetimes.optional(),
  prices: z.array(prices).min(1).describe('Oldest first'),
  factors: z.strictObject({ read: z.number() }).optional().describe('For free input: the factor of a cached token'),
  bands: z.array(bandSchema).optional(),
  offPeak: z
    .strictObject({
      factor: z.number().gt(0),
      peak: z.array(z.tuple([hour, hour])).describe('Hours of UTC on weekdays: from, and until before'),
    })
    .optional()
    .describe('The price outside of the peak hours, as a factor'),
  tiers: tiersSchema.optional(),
  shape: shape.optional(),
  binding: binding.optional(),
  minimum: count.optional(),
  tokenizer: z.string().optional(),
  asOf: day,
  source: z.string().min(5),
})

const provider = z.strictObject({
  dialect,
  maxBytes: count,
  shape,
  lifetimes,
  minimum: count,
  binding,
  tokenizer: z.string(),
  tiers: tiersSchema.optional(),
  search: dollars.optional().describe('A search of the web by the provider'),
  regional: z.number().min(1).optional().describe('The price of a regional endpoint, as a factor'),
})

export const tableSchema = z
  .strictObject({
    $schema: z.string().optional(),
    asOf: day,
    unknown: z.string().describe('The row for model names without a family'),
    tokenizers: z.record(z.string(), z.number().gt(0)).describe('Tokens of the provider per o200k token'),
    providers: z.record(z.string(), provider).describe('Defaults for all rows of a provider'),
    models: z.array(row),
  })
  .describe('The models that Palimpsest knows')

export type Table = z.infer<typeof tableSchema>
export type Row = Table['models'][number]

export const table: Table = tableSchema.parse(json)

export function tableJsonSchema(): Record<string, unknown> {
  return { title: 'models.json', ...z.toJSONSchema(tableSchema, { io: 'input' }) }
}

const byKey = new Map(table.models.flatMap(found => [found.id, ...(found.aliases ?? [])].map(id => [keyOf(id), found])))
const LONGEST_NAME = 200

/** The row of a model by its name, however a client spells it. */
export function rowFor(name: string): Row | undefined {
  for (const rest of beginnings(name)) {
    const exact = byKey.get(rest)
    if (exact) return exact
    // The longest id such that the rest of the name does not identify another model.
    for (let end = rest.length - 1; end > 0; end--) {
      const found = byKey.get(rest.slice(0, end))
      if (found && isDecoration(rest.slice(end))) return found
    }
  }
  return undefined
}

/** The rows of the family that a name belongs to: the words before the first number. */
export function familyOf(name: string): Row[] {
  for (const rest of beginnings(name)) {
    const word = /^[a-z]+(?:-[a-z]+)*/.exec(rest)?.[0] ?? ''
    for (let family = word; family !== ''; family = family.slice(0, Math.max(0, family.lastIndexOf('-')))) {
      const rows = table.models.filter(({ id }) => startsWithWord(keyOf(id), family))
      if (rows.length > 0) return rows
    }
  }
  return []
}

function startsWithWord(text: string, word: string): boolean {
  return text.startsWith(word) && !/[a-z]/.test(text[word.length] ?? '')
}

/** The name, and the rest of it after each provider or region prefix. */
function* beginnings(name: string): Generator<string> {
  const lower = name.slice(0, LONGEST_NAME).toLowerCase()
  yield keyOf(lower)
  for (const { index } of lower.matchAll(/[/:.]/g)) yield keyOf(lower.slice(index + 1))
}

function keyOf(name: string): string {
  return name.toLowerCase().replaceAll(/[._]/g, '-')
}

const DATE = /^-(?:\d{8}|\d{4}-\d\d-\d\d|\d\d-\d{4}|\d\d-\d\d|\d{4})(?=$|[-:@[])/
const VERSION = /^-v\d+(?=$|[-:@[])/
const VARIANT = /^-(?:latest|preview|exp|free|fast|thinking|high|medium|low|xhigh)(?=$|[-:@[])/

function isDecoration(text: string): boolean {
  let rest = text
  while (rest !== '' && !/^[@:[]/.test(rest)) {
    const found = DATE.exec(rest) ?? VERSION.exec(rest) ?? VARIANT.exec(rest)
    if (!found) return false
    rest = rest.slice(found[0].length)
  }
  return true
}
