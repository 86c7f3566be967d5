/** The JSON value in the bytes of a client's body. */
import type { Wire } from '../../formats/adapters/original.ts'
import { isRecord, parseJson } from '../../model/json.ts'
import { valuesIn } from '../../model/json-text.ts'

/**
 * A body with more values is not read, and is passed on: three bytes of it can take a kilobyte of memory. The largest
 * context windows hold texts of some megabytes, in far fewer values.
 */
export const MOST_VALUES = 500_000

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** `values`: how many values the text has inside others. */
export function readBody(bytes: Buffer, within = (text: string) => text): { value: unknown; values: number } {
  try {
    const text = within(UTF8.decode(bytes))
    const values = valuesIn(text, MOST_VALUES)
    return { value: values > MOST_VALUES ? undefined : parseJson(text), values }
  } catch {
    // Not UTF-8, or not JSON: the provider will answer with an error.
    return { value: undefined, values: 0 }
  }
}

export function readObject(bytes: Buffer): { body: Wire | undefined; values: number } {
  const { value, values } = readBody(bytes)
  return { body: isRecord(value) ? value : undefined, values }
}
