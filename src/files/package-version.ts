/** The version of this package, which the command line, MCP and the server's document of routes name. */
import { readFileSync } from 'node:fs'
import { parseJson } from '../model/json.ts'

/** From package.json, which is two folders up in the checkout and in the built package. */
export function packageVersion(): string {
  const { version } = parseJson<{ version: string }>(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  )
  return version
}
