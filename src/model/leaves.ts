/**
 * The texts inside a part, in a fixed order: edits address them by number, and search reads them.
 *
 * A text part has one leaf, a tool result one (or one per inner part), a tool call one per string in its input,
 * in the order of its keys. `withLeaves` puts other texts in their place and keeps everything else.
 */
import { withCommas } from './text.ts'
import type { ImagePart, Part } from './types.ts'

export function leavesOf(part: Part): string[] {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return [part.text]
    case 'tool-call':
      return stringsIn(part.input)
    case 'tool-result':
      return typeof part.output === 'string' ? [part.output] : part.output.flatMap(leavesOf)
    case 'image':
    case 'raw':
      return []
  }
}

/** The characters of all texts of a part. */
export function charsIn(part: Part): number {
  if (part.type === 'text' || part.type === 'reasoning') return part.text.length
  if (part.type === 'tool-result' && typeof part.output === 'string') return part.output.length
  return leavesOf(part).reduce((total, text) => total + text.length, 0)
}

/** The part as the model reads it, in one string. */
export function textOf(part: Part): string {
  return leavesOf(part).join('\n')
}

/** The images of a part, including those inside a tool result. */
export function imagesIn(part: Part): ImagePart[] {
  if (part.type === 'image') return [part]
  return part.type === 'tool-result' && typeof part.output !== 'string' ? part.output.flatMap(imagesIn) : []
}

/** The text that replaces an image. */
export function imageStub(image: ImagePart): string {
  return `[Image left out: ${image.mediaType}, ${withCommas(bytesOfImage(image))} bytes]`
}

export function bytesOfImage({ data, url }: ImagePart): number {
  return data?.length ?? url?.length ?? 0
}

export function withLeaves(part: Part, change: (text: string, leaf: number) => string): Part {
  let next = 0
  return rewrite(part)

  function rewrite(inner: Part): Part {
    switch (inner.type) {
      case 'text':
      case 'reasoning':
        return { ...inner, text: change(inner.text, next++) }
      case 'tool-call':
        return { ...inner, input: mapStrings(inner.input, text => change(text, next++)) }
      case 'tool-result':
        if (typeof inner.output === 'string') return { ...inner, output: change(inner.output, next++) }
        return { ...inner, output: inner.output.map(rewrite) }
      case 'image':
      case 'raw':
        return inner
    }
  }
}

export function stringsIn(value: unknown): string[] {
  const found: string[] = []
  eachString(value, text => found.push(text))
  return found
}

/** Visits the strings of a value, in order; `key` as for `mapStrings`. */
export function eachString(value: unknown, visit: (text: string, key: string) => void, key = ''): void {
  if (typeof value === 'string') visit(value, key)
  else if (Array.isArray(value)) for (const item of value) eachString(item, visit, key)
  else if (value !== null && typeof value === 'object') {
    for (const name of Object.keys(value)) eachString(value[name as keyof typeof value], visit, name)
  }
}

/** The value with its strings changed; `key` is the name of the string, or of the list that it is in. */
export function mapStrings(value: unknown, change: (text: string, key: string) => string, key = ''): unknown {
  if (typeof value === 'string') return change(value, key)
  if (Array.isArray(value)) return value.map(item => mapStrings(item, change, key))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, mapStrings(item, change, name)]))
}
