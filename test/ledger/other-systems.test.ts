/** Where an open file has no link that says its name, files are compared by their inodes. */
import { test } from 'node:test'
import { passOn } from '../other-system.ts'

test('a file that is deleted or replaced is noticed on a system without /proc', () => {
  passOn('darwin', ['test/ledger/opened-files.test.ts'])
})
