/** The Chromium for tests of the web UI and for screenshots: CHROMIUM_PATH, or one on the path. */
import { findProgram, isProgram } from '../src/files/programs.ts'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome']

export function findChromium(env: Record<string, string | undefined> = process.env): string | undefined {
  const chosen = env['CHROMIUM_PATH']
  if (chosen) return isProgram(chosen) ? chosen : undefined
  return NAMES.map(name => findProgram(name, env)).find(found => found !== undefined)
}

/** No network traffic except for what the test requests. Root, as in containers, must run without a sandbox. */
export const CHROMIUM_ARGS: readonly string[] = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
]
