/** Draws the plots of the last replay benchmark again, from its JSON: `node bench/replot.ts`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { toSvg } from '../src/replay/plot.ts'
import type { Result } from './replay.ts'
import { costAgainstEvidence, fileOf } from './replay-plots.ts'

const { results }: { results: Record<string, Result[]> } = JSON.parse(readFileSync('bench/results/replay.json', 'utf8'))
for (const [table, rows] of Object.entries(results)) {
  writeFileSync(`docs/img/${fileOf(table)}`, toSvg(costAgainstEvidence(table, rows)))
}
