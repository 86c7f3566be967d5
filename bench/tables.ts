/** The tables of docs/benchmarks.md and docs/benchmarks-long.md, from the results of the last runs: `node bench/tables.ts`. */
import { existsSync, readFileSync } from 'node:fs'
import type { Across } from './client-compactions.ts'
import { COMPARED, modelOf, type Table } from './contenders.ts'
import type { Gap } from './curves.ts'
import type { Result } from './replay.ts'

type Row = Record<string, string | number | undefined>
type Replay = { sessions: number; calls: number; results: Record<string, Result[]>; gaps: Record<string, Gap[]> }
type Endless = {
  policy: string
  calls: number
  costToThrifty: number
  peak: number
  overWindowFrom: string | number
} & {
  evidence?: number
  evidenceInPlace?: number
  editedTextInView?: number
  effectiveToThrifty?: number
  costByTenth: number[]
}
type Held = { effective: number; evidence: number; cost: number; worst: number }
type Sensitivity = {
  leaveOneRepoOut: {
    held: Held
    fittedOnAll: Held
    folds: (Held & { repo: string; sessions: number; quote: number })[]
  }
  sensitivity: (Held & { name: string })[]
}
type Flat = { turns: number[]; presets: { preset: string; milliseconds: number[]; ratios: number[] }[] }

const NEAREST = 3
const ROBUST = ['quotes', 'by characters', 'span 24', 'span 80', 'near', 'identifiers', 'edits', 'files']

replayTables(read<Replay>('replay'))
sensitivityTables(read<Sensitivity>('sensitivity'))
endlessTables(read<Record<string, unknown[]>>('endless'))
flatTable(read<Flat>('flat-time'))

function replayTables(found: Replay | undefined): void {
  if (!found) return
  const tables = Object.entries(found.results)
  const [[, main]] = tables as [[string, Result[]]]
  const plain = main.filter(({ setting }) => !setting.startsWith('knob'))
  heading(`${found.sessions} sessions, ${found.calls} calls`)
  print(
    plain.map(row => ({
      '': nameOf(row),
      sent: fixed(row.sentShare),
      cost: fixed(row.costShare),
      evidence: fixed(row.evidence),
      effective: fixed(row.effectiveShare),
      worst: row.worst.toFixed(2),
      'cache lost': row.busts.toLocaleString('en'),
      'most tokens': `${Math.round(row.peak / 1000)}k${row.fits ? '' : ' *'}`,
      "users' words": row.said.toFixed(2),
      'reasoning lost': lostOf(row),
    })),
  )
  heading('Other prices')
  print(
    plain
      .filter(row => COMPARED.test(nameOf(row)) || row.kind === 'thrifty')
      .map(row => ({
        'effective cost @ evidence': nameOf(row),
        ...Object.fromEntries(
          tables.map(([table, rows]) => [
            table,
            atOf(
              rows.find(own => nameOf(own) === nameOf(row)),
              modelOf(table as Table).bindsReasoning,
            ),
          ]),
        ),
      })),
  )
  heading('Robustness')
  print(
    plain
      .filter(row => COMPARED.test(nameOf(row)) && row.robust['near'] !== undefined)
      .map(row => ({
        'evidence kept, by': nameOf(row),
        ...Object.fromEntries(ROBUST.map(kind => [kind, fixed(row.robust[kind] ?? 0)])),
      })),
  )
  heading('Nearest to our curve, or outside it')
  print(
    Object.entries(found.gaps).flatMap(([table, gaps]) =>
      gaps
        .filter(({ setting }) => !setting.startsWith('between'))
        .filter(({ gap }, i) => gap < -0.0005 || i < NEAREST)
        .map(({ peer, setting, evidence, theirs, ours, said, fits }) => ({
          prices: table,
          peer: `${peer}, ${setting}`,
          evidence: fixed(evidence),
          theirs: fixed(theirs),
          ours: fixed(ours),
          "users' words": said.toFixed(2),
          'fits the window': fits ? 'yes' : 'no',
        })),
    ),
  )
}

function sensitivityTables(found: Sensitivity | undefined): void {
  if (!found) return
  const { leaveOneRepoOut, sensitivity } = found
  const { held, fittedOnAll, folds } = leaveOneRepoOut
  heading(`Left out: ${fixed(held.effective)} @ ${fixed(held.evidence)}, worst ${held.worst}`)
  console.log(`fitted on all: ${fixed(fittedOnAll.effective)} @ ${fixed(fittedOnAll.evidence)}`)
  print(
    folds.map(({ repo, sessions, quote, effective, evidence }) => ({
      'repository left out': repo,
      sessions,
      quote: `${quote / 1000}k`,
      effective: fixed(effective),
      evidence: fixed(evidence),
    })),
  )
  print(
    sensitivity.map(({ name, effective, evidence, worst }) => ({
      parameter: name,
      effective: fixed(effective),
      evidence: fixed(evidence),
      worst: worst.toFixed(2),
    })),
  )
}

function endlessTables(found: Record<string, unknown[]> | undefined): void {
  for (const [title, rows] of Object.entries(found ?? {})) {
    heading(title)
    if (title.startsWith('clients')) print((rows as Across[]).map(acrossRow))
    else if (/^(shapes|bounds)/.test(title)) print(rows as Row[])
    else print((rows as Endless[]).map(endlessRow))
  }
}

function endlessRow(row: Endless): Row {
  const share = (value: number | undefined) => value?.toFixed(2) ?? ''
  return {
    '': row.policy,
    calls: row.calls.toLocaleString('en'),
    "cost / thrifty's": row.costToThrifty.toFixed(2),
    "effective / thrifty's": share(row.effectiveToThrifty),
    'most tokens': `${Math.round(row.peak / 1000)}k`,
    'over 200k from call': row.overWindowFrom,
    'cost per call, by tenths': row.costByTenth.map(cost => (cost / 1000).toFixed(1)).join(' '),
    evidence: `${share(row.evidence)}${row.evidenceInPlace === undefined ? '' : ` (${share(row.evidenceInPlace)})`}`,
    'edited text': share(row.editedTextInView),
  }
}

function acrossRow({ session, calls, compactions, cost, peak, reachBack, fetchedAgain }: Across): Row {
  return {
    session: session.replace(/\.jsonl?$/, ''),
    calls,
    compactions,
    "thrifty's cost": cost.share.toFixed(2),
    'most tokens': `${Math.round(peak.client / 1000)}k → ${Math.round(peak.thrifty / 1000)}k`,
    'passages that reach back': reachBack.passages,
    'client shows': reachBack.client.toFixed(2),
    'thrifty shows': reachBack.thrifty.toFixed(2),
    'fetched again': `${fetchedAgain.results} results, ${Math.round(fetchedAgain.tokens / 1000)}k tokens`,
    'of it still in view': fetchedAgain.stillInThrifty.toFixed(2),
  }
}

function flatTable(found: Flat | undefined): void {
  if (!found) return
  heading('Time per call')
  print(
    found.presets.map(({ preset, milliseconds, ratios }) => ({
      preset,
      ...Object.fromEntries(found.turns.map((turn, i) => [`at turn ${turn}`, `${milliseconds[i]} ms (×${ratios[i]})`])),
    })),
  )
}

function nameOf({ policy, setting }: Pick<Result, 'policy' | 'setting'>): string {
  return setting === 'default' ? policy : `${policy}, ${setting}`
}

/** Clears by the server leave all reasoning valid. */
function lostOf({ policy, reasoningLost }: Result): string {
  return policy.startsWith('anthropic') ? 'none' : `${(reasoningLost * 100).toFixed(1)} %`
}

function atOf(row: Result | undefined, binds: boolean): string {
  if (!row) return ''
  const lost =
    binds && row.kind === 'thrifty' && row.reasoningLost > 0 ? `, ${(row.reasoningLost * 100).toFixed(1)} %` : ''
  return `${fixed(row.effectiveShare)} @ ${fixed(row.evidence)}${row.fits ? '' : ' *'}${lost}`
}

function fixed(value: number): string {
  return value.toFixed(3)
}

function heading(text: string): void {
  console.log(`\n## ${text}\n`)
}

function print(rows: readonly Row[]): void {
  const [first] = rows
  if (!first) return console.log('none')
  const names = Object.keys(first)
  const line = (cells: readonly unknown[]) => `| ${cells.map(cell => cell ?? '').join(' | ')} |`
  console.log(line(names))
  console.log(`|${names.map((_, i) => (i === 0 ? '--' : '--:')).join('|')}|`)
  for (const row of rows) console.log(line(names.map(name => row[name])))
}

function read<T>(name: string): T | undefined {
  const file = `bench/results/${name}.json`
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
}
