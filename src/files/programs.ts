/** Finds programs on the PATH as a shell does, if they are executable; and a port that is free. */
import { accessSync, constants } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import type { Environment } from '../model/defaults.ts'

export function findProgram(name: string, env: Environment): string | undefined {
  const folders = (env['PATH'] ?? env['Path'] ?? '').split(delimiter).filter(folder => folder !== '')
  const endings = process.platform === 'win32' ? ['.exe', '.cmd', ''] : ['']
  return folders.flatMap(folder => endings.map(end => join(folder, name + end))).find(isProgram)
}

export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** A free port of loopback. */
export function freePort(): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const server = createServer().on('error', reject)
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo
    server.close(() => resolve(port))
  })
  return promise
}
