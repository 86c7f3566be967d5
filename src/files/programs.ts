/** Finds programs on the PATH as a shell does, if they are executable. */
import { accessSync, constants } from 'node:fs'
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
