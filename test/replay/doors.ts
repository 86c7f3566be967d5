/** The sums for recorded sessions on every page and in every command. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { costOfSession } from '../../src/agent/spending.ts'
import { ProxyAccount } from '../../src/doors/proxy/account.ts'
import { Meter } from '../../src/doors/proxy/meter.ts'
import { costsOf } from '../../src/doors/server/transcripts.ts'
import { readTranscript } from '../../src/formats/transcripts/read-transcript.ts'
import { modelInfo } from '../../src/providers/models.ts'
import { dollarsOf } from '../../src/providers/pricing.ts'
import { recordedTimeline, replayOptionsOf } from '../../src/replay/account.ts'
import { prepareSession, tryPolicy } from '../../src/replay/measure/policies.ts'
import { billPartsOf, whyOf } from '../../src/replay/why.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import { importSession } from '../../src/session/import-transcript.ts'
import { Timelines } from '../../src/session/timelines.ts'
import { rentOf } from '../../src/view/rent.ts'
import { statisticsOf } from '../../src/view/statistics.ts'
import { summaryOf } from '../../src/view/totals.ts'
import { turnsOf } from '../../src/view/turns.ts'

export const TRACES = join(import.meta.dirname, '../../../shared/traces')
export const skip = existsSync(TRACES) ? false : 'no ../shared/traces'
/** Formats with the usage that the provider reported. */
export const RECORDED = ['claude-code', 'codex', 'opencode', 'pi', 'gemini-cli', 'mini-swe-agent', 'openhands']

export const isCent = (a: number, b: number) => Math.abs(a - b) < 0.005

/** A value from Prometheus' text, over all models. */
function costIn(metrics: string): number {
  const values = [...metrics.matchAll(/^palimpsest_cost_dollars_total(?:\{.*\})? (.*)$/gm)].map(([, value]) =>
    Number(value),
  )
  return values.reduce((total, value) => total + value, 0)
}

/** Checks every session with usage in some files; returns their number. */
export async function checkDoors(files: readonly string[]): Promise<number> {
  const pal = await openPalimpsest({ home: ':memory:' })
  let checked = 0
  for (const file of files) {
    const { sessions } = await readTranscript(file)
    for (const session of sessions.filter(({ usage }) => usage.length > 0)) {
      const name = `${file} ${session.id}`
      const timeline = await recordedTimeline(session)
      const { money, calls } = summaryOf(timeline)
      const bill = session.usage
        .filter(({ message }) => message >= session.carried)
        .reduce((total, { message, usage }) => {
          const at = session.messages[message]?.at
          const model = modelInfo(usage.model ?? session.model, {}, at ? { at } : {})
          return total + dollarsOf(usage, model)
        }, 0)
      const estimated = timeline.calls.filter(({ paid, inherited }) => paid.estimated && !inherited)
      const rest = estimated.reduce((total, { paid }) => total + paid.dollars, 0)
      assert.ok(isCent(money.with, bill + rest), `${name}: ${money.with} and ${bill} + ${rest}`)
      const imported = await importSession(pal, session, { name: `s${checked}` })
      const info = await pal.find(imported.session)
      const opened = await pal.session(imported.session)
      const account = new ProxyAccount()
      account.touch(name, { find: async () => info, open: async () => opened, before: 0 })
      const read = await new Timelines().of(opened, info!)
      const { money: page } = summaryOf(read)
      assert.equal(page.saved, 0, `${name}: nothing of ours was edited`)
      const all = await tryPolicy(prepareSession(name, session.messages), 'none', replayOptionsOf(read))
      const said = {
        page: page.with,
        without: page.without,
        compare: costsOf('none', all, all, read).dollars,
        why: whyOf(read).billedUsd,
        bar: billPartsOf(read).reduce((total, { dollars }) => total + dollars, 0),
        rent: rentOf(read).dollars,
        turns: turnsOf(read).reduce((total, { dollars }) => total + dollars, 0),
        stats: statisticsOf(read).cost,
        terminal: (await costOfSession(pal, opened)).dollars,
        run: (await account.totals()).cost,
        metrics: costIn(new Meter().text(await account.byModel({ all: true }))),
      }
      for (const [door, dollars] of Object.entries(said))
        assert.ok(isCent(dollars, money.with), `${name}: ${door} says ${dollars}, the account ${money.with}`)
      assert.ok(calls > 0 || session.carried > 0, name)
      checked++
    }
  }
  await pal.close()
  return checked
}
