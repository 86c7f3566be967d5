/** Content blocks in the form of OpenAI's chat API, which LangChain uses too. */
import { isRecord } from '../../model/json.ts'
import type { Dialect, ImagePart, Part } from '../../model/types.ts'
import {
  type Codec,
  imageFromUrl,
  keep,
  originalOf,
  rawNote,
  rawPart,
  readText,
  TAKEN,
  urlOfImage,
} from './original.ts'

type BlockCodec = Codec & { read: (block: unknown) => Part }

/** A text, an image by its address, or something that only its provider understands. */
export function openAIBlocks(dialect: Dialect): BlockCodec {
  const codec = { dialect, read, write }
  return codec

  function read(block: unknown): Part {
    if (!isRecord(block) || block.type !== 'image_url' || !isRecord(block.image_url)) {
      return readText(block, 'text', codec) ?? rawPart(dialect, block)
    }
    const { image_url: image } = block
    if (typeof image.url !== 'string') return rawPart(dialect, block)
    const part: ImagePart = { type: 'image', ...imageFromUrl(image.url) }
    const value = { ...block, image_url: { ...image, url: TAKEN } }
    return keep(part, block, write(part)[0], { dialect, value })
  }

  function write(part: Part): unknown[] {
    const own = originalOf(part, dialect)
    switch (part.type) {
      case 'text':
        if (part.text === '' && (part.edit !== undefined || !own)) return []
        return [{ ...(own ?? { type: 'text' }), text: part.text }]
      case 'image': {
        const url = urlOfImage(part)
        if (own && isRecord(own.image_url)) return [{ ...own, image_url: { ...own.image_url, url } }]
        return [{ type: 'image_url', image_url: { url } }]
      }
      case 'raw':
        return [part.provider === dialect ? part.value : { type: 'text', text: rawNote(part) }]
      default:
        return []
    }
  }
}
