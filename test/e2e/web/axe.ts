/** What axe-core finds on a page that is serious or critical, one sentence each. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

export async function seriousFindings(page: Page): Promise<string[]> {
  // Run by the debugger, so that the page's own policy may forbid every foreign script.
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
