/** Blocks as OpenAI's chat API writes them, which LangChain has taken over. */
import { isRecord } from '../../model/json.ts'
import type { ImagePart, Part } from '../../model/types.ts'
import { type Codec, imageFromUrl, keep, rawPart, TAKEN } from './original.ts'

/** A text, an image by its address, or something that only its provider understands. */
export function readOpenAIBlock(block: unknown, { dialect, write }: Codec): Part {
  if (isRecord(block) && block.type === 'text' && typeof block.text === 'string') {
    const part: Part = { type: 'text', text: block.text }
    return keep(part, block, write(part)[0], { dialect, value: { ...block, text: TAKEN } })
  }
  if (isRecord(block) && block.type === 'image_url' && isRecord(block.image_url)) {
    const { image_url: image } = block
    if (typeof image.url !== 'string') return rawPart(dialect, block)
    const part: ImagePart = { type: 'image', ...imageFromUrl(image.url) }
    const value = { ...block, image_url: { ...image, url: TAKEN } }
    return keep(part, block, write(part)[0], { dialect, value })
  }
  return rawPart(dialect, block)
}
