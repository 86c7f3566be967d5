/** Loaded before a program, writes every module that the program imports to stderr. */
import { registerHooks } from 'node:module'

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context)
    process.stderr.write(`${resolved.url}\n`)
    return resolved
  },
})
