/** The serious and critical findings of axe-core on a page, one sentence each, in every theme and width of the page. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import type { Web } from './harness.ts'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

export async function seriousFindings(page: Page): Promise<string[]> {
  // Run by the debugger, because the page's security policy forbids other scripts.
  await page.evaluate(source)
  return page.evaluate(async () => {
    type Found = { id: string; impact: string; help: string; nodes: { html: string }[] }
    const { axe } = globalThis as unknown as { axe: { run(): Promise<{ violations: Found[] }> } }
    const { violations } = await axe.run()
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, help, nodes }) => `${id}: ${help}: ${nodes[0]?.html.slice(0, 200)}`)
  })
}

/** Light and dark, on a wide screen and a phone: nothing serious, no horizontal scrolling. `ready` waits for the page. */
export async function checkEveryLook(web: Web, hash: string, ready: (page: Page) => Promise<void>): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [1280, 390]) {
      const page = await web.page(hash, { colorScheme, viewport: { width, height: 844 } })
      await ready(page)
      assert.deepEqual(await seriousFindings(page), [], `${colorScheme} ${width}`)
      const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
      assert.ok(Number(overflow) <= 0, `no sideways scrolling at ${width}`)
      await page.context().close()
    }
  }
}
