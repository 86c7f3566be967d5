/**
 * A process that keeps replacing a folder by a symbolic link to another one, and a file by a link to another file,
 * as fast as it can, until it is killed or a minute is over: `node swapper.ts <root> <outside>`.
 */

import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [root, outside] = process.argv.slice(2)
if (!root || !outside) throw new Error('usage: node swapper.ts <root> <outside>')
mkdirSync(join(root, 'kept'), { recursive: true })
writeFileSync(join(root, 'kept', 'file.txt'), 'inside')
writeFileSync(join(root, 'plain.txt'), 'inside')

process.stdout.write('ready\n')

const end = Date.now() + 60_000
while (Date.now() < end) {
  quietly(() => renameSync(join(root, 'folder'), join(root, 'kept')))
  quietly(() => symlinkSync(outside, join(root, 'folder')))
  quietly(() => rmSync(join(root, 'folder')))
  quietly(() => renameSync(join(root, 'kept'), join(root, 'folder')))
  quietly(() => symlinkSync(join(outside, 'file.txt'), join(root, 'link')))
  quietly(() => renameSync(join(root, 'link'), join(root, 'plain.txt')))
  quietly(() => writeFileSync(join(root, 'fresh'), 'inside'))
  quietly(() => renameSync(join(root, 'fresh'), join(root, 'plain.txt')))
}

function quietly(step: () => void): void {
  try {
    step()
  } catch {
    // The other process was faster; the next round corrects this.
  }
}
