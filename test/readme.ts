/** The program on the first screen of the README. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export function readmeProgram(): string {
  const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8')
  const [, code] = /```ts\n([\s\S]+?)```/.exec(readme) ?? []
  if (!code) throw new Error('The README has no program.')
  return code
}
