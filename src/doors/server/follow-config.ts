/**
 * Applies changes to palimpsest.json to a running server, made by `palimpsest config`, an editor or another server. The
 * file is checked once a second; a deleted file means the defaults. If a file is invalid, the last settings are kept
 * and the log says so.
 */
import { type Stats, unwatchFile, watchFile } from 'node:fs'
import { MEMORY } from '../../model/defaults.ts'
import { configPath } from '../../session/config.ts'
import type { Palimpsest } from '../../session/engine.ts'

const LOOK_MS = 1000

/** Returns the function that stops it. */
export function followConfig(
  pal: Palimpsest,
  { changed, log }: { changed: () => void; log: (line: string) => void },
): () => void {
  if (pal.home === MEMORY) return () => {}
  const file = configPath(pal.home)
  const read = (now: Stats, before: Stats) => {
    // Node calls back once for a file that did not exist from the beginning.
    if (now.mtimeMs === before.mtimeMs && now.ino === before.ino && now.size === before.size) return
    pal.reconfigure().then(
      () => {
        changed()
        log(`${file} has changed: sessions use it from their next call on.`)
      },
      error => log(`${error instanceof Error ? error.message : error} The previous settings stay in force.`),
    )
  }
  watchFile(file, { interval: LOOK_MS, persistent: false }, read)
  return () => unwatchFile(file, read)
}
