/** Without /proc, an open file is compared with the one at its path; Windows refuses more names. */
import { test } from 'node:test'
import { passOn } from '../other-system.ts'

const PLACES = ['test/files/root.test.ts', 'test/files/move.test.ts', 'test/files/walk.test.ts']

test('paths are resolved in the same way on a system without /proc', () => {
  passOn('darwin', [...PLACES, 'test/files/atomic.test.ts', 'test/tools/confinement.test.ts'])
})

test('names of devices and streams are refused on Windows, and programs need their endings', () => {
  passOn('win32', ['test/files/root.test.ts', 'test/files/programs.test.ts'])
})
