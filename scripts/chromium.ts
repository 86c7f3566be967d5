/** The Chromium for tests of the web UI and for screenshots: CHROMIUM_PATH, or one on the path. */
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome']

export function findChromium(env: Record<string, string | undefined> = process.env): string | undefined {
  const chosen = env['CHROMIUM_PATH']
  if (chosen) return isProgram(chosen) ? chosen : undefined
  const folders = (env['PATH'] ?? '').split(delimiter).filter(Boolean)
  return NAMES.flatMap(name => folders.map(folder => join(folder, name))).find(isProgram)
}

/** Nothing but what the test asks for goes over the network. Root, as in containers, needs to be without a sandbox. */
export const CHROMIUM_ARGS: readonly string[] = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
]

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    // Not there, or not to be run: then it is not one.
    return false
  }
}
