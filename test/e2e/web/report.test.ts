/** The page that `palimpsest report` writes, in a real browser. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { runCli } from '../../cli.ts'
import { seriousFindings } from './axe.ts'
import { openWeb, skip, type Web } from './harness.ts'

describe('the page of a report', { skip }, () => {
  let web: Web
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-report-'))
  before(async () => {
    web = await openWeb()
  })
  after(async () => {
    await web?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  test('is readable light and dark, on a wide screen and a phone, with all columns in view', async () => {
    const file = join(folder, 'report.html')
    const ran = await runCli(['report', join(import.meta.dirname, '../../../sample'), '--home', folder, '--out', file])
    assert.equal(ran.code, 0, ran.stderr)
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const width of [1280, 390]) {
        const page = await web.page('', { colorScheme, viewport: { width, height: 844 } })
        await page.goto(pathToFileURL(file).href)
        assert.deepEqual(await seriousFindings(page), [], `${colorScheme} ${width}`)
        const hidden = await page.locator('.scroll:has(table)').evaluate(box => box.scrollWidth - box.clientWidth)
        assert.ok(hidden <= 0, `${hidden} px of the table are out of view at ${width}`)
        const chart = page.locator('.shown.by-project svg:visible')
        const box = (await chart.boundingBox())!
        assert.ok(box.x >= 0 && box.x + box.width <= width, 'the days with their axis are in view')
        const letters = await chart.locator('text').first().boundingBox()
        assert.ok(letters!.height >= 9, `letters of the axis are ${letters!.height} px high at ${width}`)
        await page.context().close()
      }
    }
  })
})
