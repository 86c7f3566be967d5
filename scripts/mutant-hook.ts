/**
 * Preloaded into a test process by scripts/mutate.ts (`--import`): loads one source file with one place changed, given
 * by `MUTANT`. Files on disk are not changed. Workers and child processes inherit the preload.
 */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'

const mutant = JSON.parse(process.env['MUTANT'] ?? '{}') as { url?: string; start: number; end: number; text: string }

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context)
    if (url !== mutant.url) return loaded
    const source = readFileSync(fileURLToPath(url), 'utf8')
    return { ...loaded, source: source.slice(0, mutant.start) + mutant.text + source.slice(mutant.end) }
  },
})
