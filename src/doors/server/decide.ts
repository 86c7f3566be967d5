/**
 * The page of a signed link (`/decide/TOKEN`): an agent's proposals to remember, in full, with a button to approve and
 * one to reject. It needs no token of the server and no script.
 *
 * Opening the page changes nothing, because programs that scan mail and chats follow links; deciding takes a posted
 * form. The form names the version that was shown: a block that has changed since is shown again instead of being
 * written. A conflict is shown with both sides, and a choice for each place.
 */

import { createHash } from 'node:crypto'
import type { DecisionLinks } from '../../memory/decision-links.ts'
import type { Memory } from '../../memory/memory.ts'
import { settleRegions } from '../../memory/proposals.ts'
import type { Review } from '../../memory/review.ts'
import type { Proposal } from '../../memory/store.ts'
import { isPalimpsestError, PalimpsestError } from '../../model/errors.ts'
import { amount } from '../../model/text.ts'
import { readBytes } from './bodies.ts'
import { escapeHtml } from './docs.ts'
import type { Mounted } from './server.ts'

const PREFIX = '/decide'
const MAX_FORM = 64 * 1024

export function decidePages(links: DecisionLinks): Mounted {
  return {
    prefix: PREFIX,
    roles: 'public',
    async handle(request, { doors }) {
      const { user, ids } = links.read(new URL(request.url).pathname.slice(PREFIX.length + 1))
      const { memory } = doors
      if (request.method === 'GET') return page(await cards(memory, user, ids))
      if (request.method !== 'POST') {
        throw new PalimpsestError('METHOD_NOT_ALLOWED', 'This path takes GET and POST.', { allow: 'GET, POST' })
      }
      const form = new URLSearchParams(new TextDecoder().decode(await readBytes(request, MAX_FORM)))
      const id = form.get('proposal') ?? ''
      if (!ids.includes(id)) throw new PalimpsestError('INVALID_INPUT', 'The link is not for this proposal.', { id })
      const problem = await decide(memory, user, form)
      return page(await cards(memory, user, ids), problem)
    },
  }
}

/** Carries out the form's decision; returns a sentence if that was not possible. */
async function decide(memory: Memory, user: string, form: URLSearchParams): Promise<string | undefined> {
  const id = form.get('proposal') ?? ''
  const by = `user:${user}` as const
  try {
    if (form.get('decision') === 'reject') await memory.reject(user, id, { by })
    else if (form.get('decision') === 'approve') {
      await memory.approve(user, id, { by, seen: form.get('seen') || null, ...(await settled(memory, user, form)) })
    } else throw new PalimpsestError('INVALID_INPUT', 'Choose to approve or to reject.')
    return undefined
  } catch (error) {
    if (isPalimpsestError(error)) return error.message
    throw error
  }
}

/** The text that the choices of a form give, if there is a conflict. */
async function settled(
  memory: Memory,
  user: string,
  form: URLSearchParams,
): Promise<{ body?: string; title?: string }> {
  const { merge, proposal } = await memory.review(user, form.get('proposal') ?? '')
  if (merge.type === 'deleted') return { body: proposal.body }
  if (merge.type === 'clean') return {}
  const side = (name: string) => (form.get(name) === 'proposed' ? 'proposed' : 'now')
  const body = settleRegions(merge.regions, place => side(`place-${place}`))
  return { body, ...(merge.titles ? { title: merge.titles[side('title')] } : {}) }
}

async function cards(memory: Memory, user: string, ids: readonly string[]): Promise<string[]> {
  const found = await Promise.all(ids.map(id => memory.review(user, id)))
  return found.map(review => (review.proposal.state === 'open' ? openCard(review) : decidedCard(review.proposal)))
}

/** Shows the decision but not the content, because the link has been used. */
function decidedCard({ label, state }: Proposal): string {
  return `<section><h2>${escapeHtml(label)}</h2><p>This proposal is ${state}.</p></section>`
}

function openCard(review: Review): string {
  const { proposal, block, hidden, problem } = review
  const { id, label, agentId, reasoning, confidence } = proposal
  const notes = hidden.map(({ char, name, count }) => `Hidden characters: ${char} ${name}, ${amount(count, 'time')}.`)
  if (problem !== undefined) notes.push(`It cannot be approved unchanged: ${problem}`)
  return `<section>
<h2>${escapeHtml(block?.title ?? proposal.title)} <code>${escapeHtml(label)}</code></h2>
<p>${escapeHtml(agentId)} proposes this (${confidence} confidence): ${escapeHtml(reasoning)}</p>
${notes.map(note => `<p class="warn">${escapeHtml(note)}</p>`).join('\n')}
<form method="post">
<input type="hidden" name="proposal" value="${escapeHtml(id)}">
<input type="hidden" name="seen" value="${escapeHtml(block?.version ?? '')}">
${changeIn(review)}
<button name="decision" value="approve">Approve</button>
<button name="decision" value="reject">Reject</button>
</form>
</section>`
}

function changeIn({ merge, diff, titleDiff }: Review): string {
  if (merge.type === 'conflict') {
    const titles = merge.titles ? choice('title', 'Title', merge.titles) : ''
    const places = merge.regions.filter(region => region.type === 'conflict')
    const choices = places.map((place, i) => choice(`place-${i}`, `Place ${i + 1} of ${places.length}`, place))
    return `<p class="warn">This block has since changed in the same place. Choose for each place.</p>
${titles}${choices.join('\n')}`
  }
  const gone =
    merge.type === 'deleted' ? '<p class="warn">The block has since been deleted. Approving creates it again.</p>' : ''
  const hasTitle = titleDiff.some(({ type }) => type !== 'same')
  return `${gone}${hasTitle ? `<p>Title: ${toHtml(titleDiff)}</p>` : ''}<pre>${toHtml(diff)}</pre>`
}

function choice(name: string, title: string, { now, proposed }: { now: string; proposed: string }): string {
  const side = (value: string, label: string, text: string) =>
    `<label><input type="radio" name="${name}" value="${value}" required> ${label}</label>
<pre>${text === '' ? '(nothing)' : escapeHtml(text)}</pre>`
  return `<fieldset><legend>${title}</legend>
${side('now', 'Keep the current text', now)}
${side('proposed', 'Take the proposed text', proposed)}
</fieldset>`
}

function toHtml(parts: Review['diff']): string {
  const tags = { same: '', added: 'ins', removed: 'del' }
  return parts
    .map(({ type, text }) => (tags[type] ? `<${tags[type]}>${escapeHtml(text)}</${tags[type]}>` : escapeHtml(text)))
    .join('')
}

const STYLE = `
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 45rem; margin: 2rem auto; padding: 0 1rem; }
section { border-top: 1px solid #8884; padding: 0.75rem 0; }
pre { white-space: pre-wrap; background: #8881; padding: 0.5rem; }
ins { background: #2a83; text-decoration: none; }
del { background: #c443; }
.warn { border-left: 4px solid #c80; padding-left: 0.5rem; }
button { font: inherit; padding: 0.25rem 1rem; margin-right: 0.5rem; }
`

const HASH = createHash('sha256').update(STYLE).digest('base64')
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${HASH}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
  // Without a referrer, a browser would post the form with a null origin, and the gate would refuse it.
  'referrer-policy': 'same-origin',
}

function page(sections: readonly string[], problem?: string): Response {
  const html = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="robots" content="noindex">
<title>Memory: what to remember</title><style>${STYLE}</style></head>
<body>
<h1>What to remember</h1>
${problem === undefined ? '' : `<p class="warn" role="alert">${escapeHtml(problem)}</p>`}
${sections.join('\n')}
</body>
</html>
`
  return new Response(html, { status: problem === undefined ? 200 : 409, headers: HEADERS })
}
