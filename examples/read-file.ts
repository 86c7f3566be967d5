/** The only tool of the example agents. */
import { readFile } from 'node:fs/promises'

export const READ_FILE = {
  name: 'read_file',
  description: 'Reads a text file of the working folder.',
  schema: { type: 'object' as const, properties: { path: { type: 'string' as const } }, required: ['path'] },
}

export async function readTextFile({ path }: { path: string }): Promise<string> {
  if (path.includes('..') || path.startsWith('/')) return 'Only files of the working folder can be read.'
  return readFile(path, 'utf8').catch(error => `Cannot read ${path}: ${error.message}`)
}
