/** The picture and the table of the proxy benchmark, from its JSON: `node bench/proxy-plot.ts`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { type Plot, toSvg } from '../src/replay/plot.ts'
import type { Measured, Results } from './proxy.ts'

const RESULTS = new URL('results/proxy.json', import.meta.url)
const PICTURE = new URL('../docs/img/proxy-latency.svg', import.meta.url)

export function plotOf({ contenders, conversations, kb }: Results): Plot {
  const series = measuredIn(contenders).map(([name, { added }]) => ({
    name,
    form: 'curve' as const,
    points: Object.entries(added).map(
      ([share, ms]) => [Number(share.slice(1)), Math.log10(Math.max(ms, 0.1))] as const,
    ),
  }))
  return {
    title: 'Time that a proxy adds to the first byte',
    description: `Percentiles of the time added to the first byte by each proxy, with ${conversations} streaming conversations of ${kb} KB at once; lower is better.`,
    panels: [
      {
        x: { label: 'percentile of requests', min: 50, max: 100 },
        y: { label: 'added ms (logarithmic)', min: 0, format: value => `${Math.round(10 ** value)}` },
        series,
      },
    ],
  }
}

export function tableOf({ contenders }: Results): string {
  const rows = measuredIn(contenders).map(([name, { added, firstCall, throughput }]) => {
    const { p50, p90, p99 } = added
    return `| ${name} | ${p50} | ${p90} | ${p99} | ${firstCall.p50} | ${throughput.through} of ${throughput.direct} |`
  })
  const head = '| proxy | added p50 ms | p90 | p99 | first call p50 | requests a second, of those without a proxy |'
  return [head, '|---|---|---|---|---|---|', ...rows].join('\n')
}

function measuredIn(contenders: Results['contenders']): [string, Measured][] {
  return Object.entries(contenders).flatMap(([name, one]) => ('added' in one ? [[name, one]] : []))
}

if (import.meta.main) {
  const results: Results = JSON.parse(readFileSync(RESULTS, 'utf8'))
  writeFileSync(PICTURE, toSvg(plotOf(results)))
  console.log(tableOf(results))
}
