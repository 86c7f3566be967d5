/** Errors, listeners and the home of a process. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { homeIn } from '../../src/model/defaults.ts'
import { isPalimpsestError, messageOf, ofSystem, PalimpsestError } from '../../src/model/errors.ts'
import { Listeners } from '../../src/model/listeners.ts'

test('an error has its code, its sentence, its data and its cause', () => {
  const cause = new Error('disk')
  const error = new PalimpsestError('STORE_FULL', 'The disk is full.', { path: 'a' }, cause)
  assert.deepEqual(
    [error.code, error.message, error.data, error.cause],
    ['STORE_FULL', 'The disk is full.', { path: 'a' }, cause],
  )
  assert.deepEqual(new PalimpsestError('STORE_FULL', 'x').data, {})
  assert.ok(!('cause' in new PalimpsestError('STORE_FULL', 'x')))
})

test('anything thrown has a message', () => {
  assert.deepEqual([new RangeError('a'), 'b', 7, undefined].map(messageOf), ['a', 'b', '7', 'undefined'])
})

test('our errors are recognised by name, including those of another copy of the package', () => {
  assert.ok(isPalimpsestError(new PalimpsestError('STORE_FULL', 'x')))
  assert.ok(isPalimpsestError(Object.assign(new Error('x'), { name: 'PalimpsestError', code: 'STORE_FULL' })))
  assert.ok(!isPalimpsestError(Object.assign(new Error('x'), { code: 'ENOENT' })))
  assert.ok(!isPalimpsestError(Object.assign(new Error('x'), { name: 'PalimpsestError' })))
  assert.ok(!isPalimpsestError({ name: 'PalimpsestError', code: 'STORE_FULL' }))
})

test('listeners are called in order, until they unsubscribe', () => {
  const listeners = new Listeners<string>()
  const heard: string[] = []
  const stop = listeners.listen(event => heard.push(`first ${event}`))
  listeners.listen(event => heard.push(`second ${event}`))
  listeners.tell('a')
  stop()
  listeners.tell('b')
  assert.deepEqual(heard, ['first a', 'second a', 'second b'])
})

test('the home comes from the environment', () => {
  assert.equal(homeIn({ PALIMPSEST_HOME: '/home/x' }), '/home/x')
  assert.equal(homeIn({ PALIMPSEST_HOME: '' }), '.agent')
  assert.equal(homeIn({}), '.agent')
})

test('a failure of the disk or of permissions is one of ours, with its path; anything else stays as it is', () => {
  const failure = (more: object) => Object.assign(new Error('x'), more)
  const full = ofSystem(failure({ code: 'ENOSPC' }))
  assert.ok(isPalimpsestError(full))
  assert.deepEqual([full.code, full.message, full.data], ['STORE_FULL', 'The disk is full. Free some space.', {}])
  const denied = ofSystem(failure({ code: 'EACCES', path: '/a' }))
  assert.ok(isPalimpsestError(denied))
  assert.deepEqual([denied.code, denied.data], ['STORE_READONLY', { path: '/a' }])
  assert.match(denied.message, /\(\/a\)$/)
  const others = ['text', undefined, { code: 'ENOSPC' }, failure({}), failure({ code: 'EOTHER' })]
  for (const other of [...others, new PalimpsestError('PINNED', 'x')]) assert.equal(ofSystem(other), other)
})
