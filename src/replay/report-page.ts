/**
 * The report as a page to share: one string of HTML, in the look of the web UI, that loads nothing and runs no script.
 * Its controls are radio buttons and CSS. Every text from a session is escaped.
 */

import { amount, withCommas } from '../model/text.ts'
import { PRICES_AS_OF } from '../providers/models.ts'
import type { KnobPoint } from '../view/figures.ts'
import { agentName } from '../view/names.ts'
import { largestRows, type Rent } from '../view/rent.ts'
import { dayOf } from '../view/totals.ts'
import { sum } from './account.ts'
import { type Habit, worstHabits } from './habits.ts'
import { escapeXml } from './plot.ts'
import { billsBy, type NamedBill, type SessionReport, totalRent, totalsOf } from './report.ts'
import { DAY_MS, dayBars, noonOf, PALETTE } from './report-days.ts'
import { REPORT_STYLE } from './report-style.ts'

export type PageOptions = {
  /** The results of the knob on some sessions, and the number of these sessions. */
  knob?: { points: readonly KnobPoint[]; sessions: number }
  /** Dollars that edits have saved in the sessions of the home. */
  savedSoFar?: number
  hidesNames?: boolean
  /** Older files that were not read. */
  left?: number
}

const MAX_HABITS = 3
const COUNTS = ['', '', 'two', 'three']
const MAX_LIST_ROWS = 7
const MAX_TILES = 8
const MAX_SESSION_ROWS = 100

export function toHtml(sessions: readonly SessionReport[], options: PageOptions = {}): string {
  const knobStyle = (options.knob?.points ?? [])
    .map(({ keep }) => `.knob:has(#keep-${keep}:checked) .keep-${keep}{display:block}`)
    .join('')
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>What agents cost · Palimpsest</title><style>${REPORT_STYLE}${knobStyle}</style></head><body><main>
${[
  header(sessions, options),
  verdict(sessions, options),
  days(sessions),
  lists(sessions),
  habits(sessions),
  rent(totalRent(sessions)),
  options.knob && options.knob.sessions > 0 ? knob(options.knob, sessions.length) : '',
  table(sessions),
  footer(sessions),
].join('\n')}
</main></body></html>
`
}

function header(sessions: readonly SessionReport[], { hidesNames, left = 0 }: PageOptions): string {
  const times = sessions.flatMap(({ bill }) => bill.map(({ at }) => at)).filter(at => at > 0)
  const [first, last] = [min(times), max(times)]
  const span = times.length === 0 ? 0 : Math.round((noonOf(last) - noonOf(first)) / DAY_MS) + 1
  const { projects, agents } = billsBy(sessions)
  const dates = times.length === 0 ? '' : `${dateOf(first)} to ${dateOf(last)} · `
  const counts = [
    amount(sessions.length, 'session'),
    amount(agents.length, 'agent'),
    amount(projects.length, 'project'),
    amount(totalsOf(sessions).calls, 'call'),
  ]
  const holds = hidesNames
    ? 'Names of projects and files and the requests are hidden.'
    : 'It contains names of projects and files and first requests; <code>--hide-names</code> leaves them out.'
  return `<header><h1>What ${span > 1 ? amount(span, 'day') : 'a day'} of agents cost</h1>
<p class="dim">${dates}${counts.join(', ')}${left > 0 ? ` · without ${amount(left, 'older file')}` : ''}</p>
<p class="private"><b>Private.</b> Made on this machine; nothing has left it. ${holds}</p></header>`
}

function verdict(sessions: readonly SessionReport[], { savedSoFar = 0 }: PageOptions): string {
  const { billedUsd, savedUsd, evidence, subagents, estimatedCalls, calls } = totalsOf(sessions)
  const could = Math.max(0, Math.min(savedUsd, billedUsd))
  const kind = estimatedCalls === calls ? 'estimated' : 'billed'
  const share = billedUsd > 0 ? Math.round((100 * could) / billedUsd) : 0
  const widths: [string, number][] = [
    ['paid', billedUsd - could],
    ['could', could],
    ['saved', savedSoFar],
  ]
  const bars = widths
    .filter(([, dollars]) => dollars > 0)
    .map(([kind, dollars]) => `<i class="${kind}" style="flex:${dollars}"></i>`)
  const facts: [string, string][] = [
    ...(savedSoFar > 0 ? [['Saved so far', `<span class="good">${money(savedSoFar)}</span>`] as [string, string]] : []),
    ['Could be saved', money(could)],
    ['Later quotes still visible', percent(evidence)],
    ['Subagents', money(subagents.billedUsd)],
  ]
  return `<section class="card verdict"><div><p class="say">Agents cost <b>${money(billedUsd)}</b>. With <code>thrifty</code> it would have been <b>${money(billedUsd - could)}</b>, ${share} % less.</p>
<div class="bar" role="img" aria-label="${money(billedUsd)} ${kind}, of which ${money(could)} could be saved">${bars.join('')}</div>
<p class="legend"><span><i class="paid"></i>${kind} ${money(billedUsd - could)}</span><span><i class="could"></i>${kind}, could be saved ${money(could)}</span>${savedSoFar > 0 ? `<span><i class="saved"></i>saved ${money(savedSoFar)}</span>` : ''}</p></div>
<dl>${facts.map(([name, value]) => `<div><dt>${name}</dt><dd>${value}</dd></div>`).join('')}</dl></section>`
}

/** The cost of each day, stacked by the chosen list. */
function days(sessions: readonly SessionReport[]): string {
  const by: [string, string, (session: SessionReport, line: SessionReport['bill'][number]) => string][] = [
    ['project', 'Project', ({ project }) => shortPath(project || 'unknown')],
    ['agent', 'Agent', ({ format }) => agentName(format)],
    ['model', 'Model', (_, { model }) => model || 'unknown'],
  ]
  const choices = by.map(([key, name], i) => {
    return `<label><input type="radio" name="by" id="by-${key}"${i === 0 ? ' checked' : ''}>${name}</label>`
  })
  const charts = by.map(([key, name, nameOf]) => {
    return `<div class="shown by-${key}">${dayBars(sessions, nameOf, `Dollars by day and ${name.toLowerCase()}`)}</div>`
  })
  return `<section><div class="head"><h2>Day by day</h2><fieldset class="choice" aria-label="Stacked by">${choices.join('')}</fieldset></div>
${charts.join('\n')}</section>`
}

function lists(sessions: readonly SessionReport[]): string {
  const { projects, agents, models } = billsBy(sessions)
  const column = (title: string, bills: readonly NamedBill[], nameOf: (name: string) => string) => {
    const most = max(bills.map(({ billedUsd }) => billedUsd))
    const rows = bills.slice(0, MAX_LIST_ROWS).map(({ name, billedUsd, savedUsd }) => {
      const could = Math.max(0, Math.min(savedUsd, billedUsd))
      const width = (dollars: number) => `${most > 0 ? (100 * dollars) / most : 0}%`
      return `<li><div class="row"><span title="${escapeXml(name)}">${escapeXml(nameOf(name))}</span><b>${money(billedUsd)}</b></div><div class="meter"><i class="paid" style="width:${width(billedUsd - could)}"></i><i class="could" style="width:${width(could)}"></i></div></li>`
    })
    const more = bills.slice(MAX_LIST_ROWS)
    if (more.length > 0)
      rows.push(
        `<li class="row dim"><span>${more.length} more</span>${money(sum(more.map(bill => bill.billedUsd)))}</li>`,
      )
    return `<div><h3>${title}</h3><ul>${rows.join('')}</ul></div>`
  }
  return `<section class="columns">${column('By project', projects, shortPath)}${column('By agent', agents, agentName)}${column('By model', models, name => name)}</section>`
}

function habits(sessions: readonly SessionReport[]): string {
  const worst = worstHabits(totalsOf(sessions).waste, MAX_HABITS)
  if (worst.length === 0) return ''
  const card = ({ name, things, about, fix, times, tokens, dollars }: Habit) =>
    `<div class="card"><p class="sum">${money(dollars)}</p><h3>${name}</h3>
<p>${amount(times, ...things)} ${about}: ${short(tokens)} tokens.</p><p class="do"><b>Do:</b> ${fix}</p></div>`
  return `<section><div class="head"><h2>${worst.length === 1 ? 'The most expensive habit' : `The ${COUNTS[worst.length]} most expensive habits`}</h2><span class="dim small">habits overlap a little</span></div><div class="cards">${worst.map(card).join('')}</div></section>`
}

function rent(whole: Rent): string {
  const tiles = largestRows(whole.kind, MAX_TILES).map(({ name, dollars }, i) => {
    return `<div style="flex:${Math.max(dollars, whole.dollars / 50)};--kind:var(--${PALETTE[i % PALETTE.length]})" title="${escapeXml(name)} ${money(dollars)}"><b>${money(dollars)}</b><span>${escapeXml(name)}</span></div>`
  })
  const column = (title: string, rows: Rent['kind'], nameOf = (name: string) => name) => {
    const items = largestRows(rows, MAX_LIST_ROWS).map(({ name, dollars }) => {
      return `<li class="row"><span title="${escapeXml(name)}">${escapeXml(nameOf(name))}</span><b>${money(dollars)}</b></li>`
    })
    return `<div><h3>${title}</h3><ul>${items.join('')}</ul></div>`
  }
  return `<section><div class="head"><h2>Where the money goes: rent</h2><span class="dim small">what each text cost by being in the prompt, call after call; each list adds up to ${money(whole.dollars)}</span></div>
<div class="mosaic">${tiles.join('')}</div>
<div class="columns" style="margin-top:20px">${column('By tool', whole.tool)}${column('By file', whole.file, shortPath)}${column('By MCP server', whole.server)}</div></section>`
}

/** The effect of the knob on these sessions: a slider with five positions. */
function knob({ points, sessions }: NonNullable<PageOptions['knob']>, all: number): string {
  const whole = all === 1 ? 'your session' : `all ${withCommas(all)} sessions`
  const replayed =
    sessions === all ? whole : `${withCommas(sessions)} of ${withCommas(all)} sessions, the most expensive first`
  const labels = points.map(({ keep }) => {
    return `<label><input type="radio" name="keep" id="keep-${keep}"${keep === 'normal' ? ' checked' : ''}>${keep}</label>`
  })
  const says = points.map(({ keep, withoutUsd, savedUsd, kept, quotes }) => {
    const share = withoutUsd > 0 ? Math.round((100 * savedUsd) / withoutUsd) : 0
    return `<p class="say keep-${keep}"><b>${money(withoutUsd - savedUsd)}</b> instead of ${money(withoutUsd)} (${share} % less), with <b>${percent(quotes === 0 ? 1 : kept / quotes)}</b> of later quotes still visible. <span class="dim small"><code>keep: "${keep}"</code></span></p>`
  })
  return `<section><div class="head"><h2>Cost against what stays visible</h2><span class="dim small">replayed on ${replayed}</span></div>
<div class="card knob" role="radiogroup" aria-label="How much must stay visible?"><p class="dim small">How much must stay visible?</p><div class="track">${labels.join('')}</div>${says.join('')}</div></section>`
}

function table(sessions: readonly SessionReport[]): string {
  const expensive = sessions.toSorted((a, b) => b.billedUsd - a.billedUsd)
  const rows = expensive.slice(0, MAX_SESSION_ROWS).map(one => {
    const badge = one.isSubagent
      ? ' <span class="badge">subagent</span>'
      : one.parent
        ? ' <span class="badge">segment</span>'
        : ''
    const where = one.project === '' ? '' : ` · ${escapeXml(shortPath(one.project))}`
    return `<tr><td><span class="title" title="${escapeXml(one.title)}">${escapeXml(one.title)}</span><span class="dim small">${escapeXml(agentName(one.format))}${where}</span>${badge}</td><td class="wide">${one.at > 0 ? dayOf(one.at) : ''}</td><td class="num wide">${withCommas(one.calls)}</td><td class="num wide">${short(one.peak)}</td><td class="num">${money(one.billedUsd)}</td><td class="num">${money(one.billedUsd - one.savedUsd)}</td></tr>`
  })
  const more =
    expensive.length > MAX_SESSION_ROWS
      ? `<p class="dim small">${expensive.length - MAX_SESSION_ROWS} more are not listed.</p>`
      : ''
  return `<section><div class="head"><h2>Sessions, most expensive first</h2></div><div class="scroll"><table><thead><tr><th>session</th><th class="wide">day</th><th class="num wide">calls</th><th class="num wide">most tokens</th><th class="num">cost</th><th class="num">with thrifty</th></tr></thead><tbody>${rows.join('')}</tbody></table></div>${more}</section>`
}

function footer(sessions: readonly SessionReport[]): string {
  const { calls, estimatedCalls } = totalsOf(sessions)
  const estimated =
    estimatedCalls === 0
      ? ''
      : ` ${withCommas(estimatedCalls)} of ${withCommas(calls)} calls are estimated, because no usage was reported for them.`
  const assumed = [...new Set(sessions.flatMap(one => one.assumed))].map(text => ` ${escapeXml(text)}.`).join('')
  return `<section class="dim small"><p>The cost of a session is what the provider reported for input, cache and output of each call, at the list prices of ${PRICES_AS_OF}.${estimated}${assumed} What <code>thrifty</code> would have saved is the difference between two replays with our cost model. A replay cannot react: an agent that saw less might have acted differently.</p></section>`
}

function dateOf(at: number): string {
  return new Date(at).toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric' })
}

function shortPath(path: string): string {
  const parts = path.split(/[\\/]/).filter(part => part !== '')
  return parts.length <= 2 ? path : parts.slice(-2).join('/')
}

function money(dollars: number): string {
  const text = Math.abs(dollars).toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })
  return `${dollars <= -0.005 ? '−' : ''}$${text}`
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}

function short(tokens: number): string {
  if (tokens < 1000) return String(Math.round(tokens))
  return tokens < 1_000_000 ? `${Math.round(tokens / 1000)}K` : `${(tokens / 1_000_000).toFixed(1)}M`
}

function max(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), 0)
}

function min(values: readonly number[]): number {
  return values.reduce((least, value) => Math.min(least, value), Number.POSITIVE_INFINITY)
}
