/** Loaded with --import: `palimpsest/x` is the source from which package.json's export is built. */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const ROOT = join(import.meta.dirname, '..')
const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

registerHooks({
  resolve(name, context, next) {
    const target = /^palimpsest(\/|$)/.test(name) ? exports[name.replace(/^palimpsest/, '.')] : undefined
    if (target === undefined) return next(name, context)
    const source = target.default.replace(/^\.\/dist\/(.*)\.js$/, 'src/$1.ts')
    return { url: pathToFileURL(join(ROOT, source)).href, shortCircuit: true }
  },
})
