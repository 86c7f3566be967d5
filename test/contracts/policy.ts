/**
 * The contract of all policies, on any session; run for each policy and each preset.
 *
 * A real session applies all of its proposals without a refusal. It leaves pinned parts and the user's words alone. It
 * is deterministic and proposes nothing twice, not even after a restart or an undo. It looks only at new parts.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { codingSession } from '../../bench/session.ts'
import type { Edit, Message } from '../../src/model/types.ts'
import { type PlannerFactory, placeOf } from '../../src/policies/policy.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import type { Session } from '../../src/session/session.ts'
import { entriesOf } from '../../src/view/edits.ts'
import { checkView } from '../../src/view/legality.ts'
import type { Unit } from '../../src/view/units.ts'
import { session as anySession } from '../laws/sessions.ts'
import * as fc from '../property.ts'

const MODELS = ['claude-sonnet-4-5', 'gpt-5', 'gpt-4o', 'claude-opus-5-5']

export type PolicyContract = {
  /** Whether the coding session must make it act. */
  acts?: boolean
  /** Runs of generated sessions for each model. */
  runs?: number
}

export function policyContract(make: () => PlannerFactory, { acts = true, runs = 8 }: PolicyContract = {}): void {
  const { name } = make()
  describe(`policy: ${name}`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'palimpsest-policy-'))
    after(() => rmSync(folder, { recursive: true, force: true }))

    for (const model of MODELS) {
      test(`its proposals are legal on any session (${model})`, () =>
        fc.assert(
          fc.asyncProperty(anySession, fc.integer({ min: 1, max: 4 }), async (messages, batch) => {
            await run(messages, { policy: make(), model, batch })
          }),
          { numRuns: runs },
        ))
    }

    test("it does not edit pinned parts or the user's words", () =>
      fc.assert(
        fc.asyncProperty(anySession, fc.array(fc.nat(12), { maxLength: 3 }), async (messages, pins) => {
          checkEdits(await run(messages, { policy: make(), pins }), messages, pins)
        }),
        { numRuns: runs },
      ))

    test('it does not edit a part that is pinned before the edit', async () => {
      const messages = coding(40)
      const free = editsOf(await run(messages, { policy: make() }))
      const edited = [...new Set(free.filter(isOfPolicy).map(({ target }) => entriesOf(target).to))]
      if (acts) assert.ok(edited.length > 0, 'it edits something')
      const pins = edited.filter((_, i) => i % 2 === 0)
      checkEdits(await run(messages, { policy: make(), pins }), messages, pins)
    })

    test('two runs make the same edits, and each is plain JSON', async () => {
      const messages = coding(40)
      const first = editsOf(await run(messages, { policy: make() }))
      const second = editsOf(await run(messages, { policy: make() }))
      assert.deepEqual(first, second)
      assert.deepEqual(JSON.parse(JSON.stringify(first)), first)
      if (acts) assert.ok(first.length > 0, 'it did something')
    })

    test('asked again, even after a restart, it proposes nothing more', async () => {
      const home = join(folder, 'again')
      const messages = coding(40)
      const policy = make()
      const pal = await openPalimpsest({ home, clock: () => 1000, config: false })
      const session = await pal.session('s', { policy })
      await feed(session, messages, 4)
      const made = session.edits().length
      await session.view()
      assert.equal(session.edits().length, made)
      const other = await openPalimpsest({ home, clock: () => 1000, config: false })
      const reopened = await other.session('s', { policy })
      const { report } = await reopened.view()
      assert.deepEqual(report, [])
      assert.equal(reopened.edits().length, made, JSON.stringify(editsOf(reopened).slice(made)))
      await other.close()
      await pal.close()
    })

    test('it does not repeat an edit that the user has undone', async () => {
      const session = await run(coding(40), { policy: make() })
      const undone = session
        .edits()
        .filter(({ edit, active }) => active && isOfPolicy(edit))
        .slice(-3)
      if (acts) assert.ok(undone.length > 0, 'there is something to undo')
      for (const { edit } of undone.reverse()) await session.undo(edit.id)
      const before = session.edits().length
      await session.view()
      const again = editsOf(session).slice(before)
      const places = new Set(undone.map(({ edit }) => `${edit.by} ${placeOf(edit.target)}`))
      for (const edit of again) assert.ok(!places.has(`${edit.by} ${placeOf(edit.target)}`), `${edit.id} is back`)
    })

    test('the work of a call depends on what is new, not on the length of the session', async () => {
      const touched: number[] = []
      await run(coding(120), { policy: counting(make(), touched) })
      const quarter = Math.floor(touched.length / 4)
      const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0)
      const early = sum(touched.slice(0, quarter)) / quarter
      const late = sum(touched.slice(-quarter)) / quarter
      assert.ok(late <= 3 * early + 20, `${early} units per call at first, ${late} at the end`)
    })
  })
}

/** A session that a policy has edited from the beginning, with every view checked. */
export async function run(
  messages: readonly Message[],
  { policy, model = 'claude-sonnet-4-5', batch = 1, pins = [] }: RunOptions,
): Promise<Session> {
  const pal = await openPalimpsest({ home: ':memory:', clock: () => 1000, keepFile: async () => undefined })
  const session = await pal.session('s', { policy, model })
  await feed(session, messages, batch, pins)
  return session
}

type RunOptions = { policy: PlannerFactory; model?: string; batch?: number; pins?: readonly number[] }

async function feed(session: Session, messages: readonly Message[], batch: number, pins: readonly number[] = []) {
  for (let i = 0; i < messages.length; i += batch) {
    await session.append(...messages.slice(i, i + batch))
    for (const pin of pins) if (pin >= i && pin < i + batch && pin < messages.length) await session.pin(pin)
    const view = await session.view()
    assert.deepEqual(view.report, [])
    if (i % 7 === 0) assert.deepEqual(checkView(view.messages, { dialect: session.options.model.dialect }), [])
  }
}

export function coding(turns: number): Message[] {
  return [...codingSession({ turns, files: 6 })].flat()
}

export function editsOf(session: Session): Edit[] {
  return session.edits().map(({ edit }) => edit)
}

const isOfPolicy = ({ by }: Edit) => by.startsWith('policy:')

function checkEdits(session: Session, messages: readonly Message[], pins: readonly number[]): void {
  for (const edit of editsOf(session).filter(isOfPolicy)) {
    assertNotPinned(edit, pins)
    assertNotTheUsers(edit, messages)
  }
}

function assertNotPinned({ id, target, by }: Edit, pins: readonly number[]): void {
  if (target.type === 'after') return
  const { from, to } = entriesOf(target)
  for (const pin of pins) assert.ok(pin < from || pin > to, `${id} of ${by} touches entry ${pin}, which is pinned`)
}

function assertNotTheUsers({ id, target }: Edit, messages: readonly Message[]): void {
  if (target.type !== 'part') return
  const message = messages[target.entry]
  const isImage = message?.parts[target.part]?.type === 'image'
  assert.ok(message?.role !== 'user' || isImage, `${id} edits a message of the user`)
}

/** The same planner, with a count of the units that it looks at in each call. */
function counting(factory: PlannerFactory, touched: number[]): PlannerFactory {
  return {
    name: factory.name,
    start() {
      const planner = factory.start()
      return {
        plan(context) {
          let looks = 0
          const units = new Proxy(context.units as Unit[], {
            get(list, key) {
              if (typeof key === 'string' && /^\d+$/.test(key)) looks++
              return Reflect.get(list, key)
            },
          })
          const plan = planner.plan({ ...context, units })
          touched.push(looks)
          return plan
        },
      }
    },
  }
}
