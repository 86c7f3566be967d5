/** The cost of a session next to its cost without edits: sums computed by hand, with round prices. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Account } from '../../src/planner/account.ts'

const prices = { read: 0.1, write: 2 }
const near = (a: number, b: number) => assert.ok(Math.abs(a - b) < 1e-9, `${a} is not ${b}`)
/** With a share of 1 the base is added to the savings, with 0 it is not. */
const sums = (account: Account) => ({ saved: account.budget(0), base: account.budget(1) - account.budget(0) })

test('new text costs a write, sent text a read, and in a cold cache all is written', () => {
  const account = new Account()
  account.count(0, { whole: 100, sent: 100, cold: false }, prices)
  near(sums(account).base, 200)
  account.count(1, { whole: 150, sent: 150, cold: false }, prices)
  near(sums(account).base, 200 + 10 + 100)
  account.count(2, { whole: 150, sent: 150, cold: true }, prices)
  near(sums(account).base, 310 + 300)
  account.count(3, { whole: 120, sent: 120, cold: false }, prices)
  near(sums(account).base, 610 + 12)
  near(sums(account).saved, 0)
})

test('text that is not sent is saved, minus the immediate cost of edits', () => {
  const account = new Account()
  account.count(0, { whole: 100, sent: 100, cold: false }, prices)
  account.count(1, { whole: 200, sent: 140, cold: false }, prices)
  near(sums(account).saved, 10 + 200 - (10 + 80))
  account.pay(50)
  near(sums(account).saved, 70)
  account.count(2, { whole: 200, sent: 140, cold: true }, prices)
  near(sums(account).saved, 70 + 120)
  near(account.budget(0.01), 190 + 0.01 * (200 + 210 + 400))
})

test('a call is counted once', () => {
  const account = new Account()
  account.count(0, { whole: 100, sent: 60, cold: false }, prices)
  const before = sums(account)
  account.count(0, { whole: 500, sent: 10, cold: true }, prices)
  assert.deepEqual(sums(account), before)
})

test('in a session that has already begun, each earlier call counts as half of the present size', () => {
  const account = new Account()
  account.count(4, { whole: 100, sent: 100, cold: false }, prices)
  near(sums(account).base, 4 * 50 * 0.1 + 200 + 200)
  account.count(5, { whole: 100, sent: 100, cold: false }, prices)
  near(sums(account).base, 420 + 10)
})
