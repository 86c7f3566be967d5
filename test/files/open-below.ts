/** The files and folders below a folder that this process has open; only Linux lists them. */
import { readdirSync, readlinkSync } from 'node:fs'

export function openBelow(folder: string): string[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc/self/fd').flatMap(fd => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`)
      return path.startsWith(folder) ? [path] : []
    } catch {
      // The list itself was open while it was read.
      return []
    }
  })
}
