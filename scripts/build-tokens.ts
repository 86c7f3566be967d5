/**
 * Packs the token table of o200k for src/model/byte-pairs.ts: the number of tokens, their lengths, then their bytes in
 * the order of their ranks, in base64. `node scripts/build-tokens.ts` writes src/model/o200k.json; a test compares the
 * file with it.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import tokens from 'gpt-tokenizer/bpeRanks/o200k_base'

export const TOKENS = join(import.meta.dirname, '../src/model/o200k.json')

export function packedTokens(): string {
  const all = tokens.map(token => Buffer.from(token as string))
  const size = Buffer.alloc(4)
  size.writeUInt32BE(all.length)
  return `${JSON.stringify(Buffer.concat([size, Buffer.from(all.map(({ length }) => length)), ...all]).toString('base64'))}\n`
}

if (import.meta.main) writeFileSync(TOKENS, packedTokens())
