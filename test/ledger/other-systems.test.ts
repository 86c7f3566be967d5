/** On systems where an open file has no link with its name, files are compared by their inodes. */
import { test } from 'node:test'
import { passOn } from '../other-system.ts'

test('a deleted or replaced file is detected on a system without /proc', () => {
  passOn('darwin', ['test/ledger/opened-files.test.ts'])
})
