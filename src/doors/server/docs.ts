/**
 * Routes: health, the OpenAPI document, and a page that shows it to people. The page is one piece of HTML without a
 * script; its style is named in the Content-Security-Policy by its hash, so that nothing else can run or load.
 */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Document, Operation } from './document.ts'
import { defineRoute, type Route } from './route.ts'

/** The routes about the server itself; the document is asked for when it is needed, because it lists these too. */
export function docsRoutes(document: () => Document): readonly Route[] {
  const page = lazily(() => toPage(document()))
  return [
    defineRoute({
      method: 'get',
      path: '/healthz',
      tag: 'server',
      summary: 'Whether the server can answer and reach its stores',
      roles: 'public',
      answer: z.object({ ok: z.boolean() }),
      async run({ doors }) {
        await doors.memory.store.ping()
        await doors.pal.sessions({ limit: 1 })
        return { ok: true }
      },
    }),
    defineRoute({
      method: 'get',
      path: '/openapi.json',
      tag: 'server',
      summary: 'This document',
      roles: 'public',
      answer: z.looseObject({ openapi: z.string() }),
      async run() {
        return Response.json(document())
      },
    }),
    defineRoute({
      method: 'get',
      path: '/docs',
      tag: 'server',
      summary: 'The routes, as a page',
      roles: 'public',
      type: 'text/html',
      answer: z.string(),
      async run() {
        const headers = { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': PAGE_POLICY }
        return new Response(page(), { headers })
      },
    }),
  ]
}

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --dim: #777; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
code { font: 0.9em ui-monospace, monospace; }
section { border-top: 1px solid var(--line); padding: 0.75rem 0; }
h3 { font-size: 1rem; margin: 0; }
h3 b { display: inline-block; min-width: 4.5rem; text-transform: uppercase; }
p { margin: 0.25rem 0; }
.dim { color: var(--dim); }
ul { margin: 0.25rem 0; padding-left: 1.25rem; }
`

const HASH = createHash('sha256').update(STYLE).digest('base64')
const PAGE_POLICY = `default-src 'none'; style-src 'sha256-${HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

function toPage({ info, paths }: Document): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  const groups = [...Map.groupBy(operations, ({ operation }) => operation.tags[0]!)]
  const body = groups.map(
    ([tag, own]) =>
      `<h2>${escapeHtml(tag)}</h2>\n${own.map(one => toSection(one.path, one.method, one.operation)).join('\n')}`,
  )
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(info.title)}</title>
<style>${STYLE}</style></head>
<body>
<h1>${escapeHtml(info.title)} <span class="dim">${escapeHtml(info.version)}</span></h1>
<p>${escapeHtml(info.description)}</p>
<p>For programs: <a href="/openapi.json"><code>/openapi.json</code></a></p>
${body.join('\n')}
</body>
</html>
`
}

function toSection(path: string, method: string, operation: Operation): string {
  const { summary, description, parameters, requestBody, responses, 'x-roles': roles } = operation
  const who = roles === 'public' ? 'everybody, without a token' : roles.join(', ')
  const items = parameters.map(({ name, in: where, required, description: about }) => {
    const needed = required ? '' : ', optional'
    return `<li><code>${escapeHtml(name)}</code> <span class="dim">${where}${needed}</span> ${escapeHtml(about ?? '')}</li>`
  })
  const types = Object.keys(requestBody?.content ?? {})
  if (types.length > 0) items.push(`<li>body <span class="dim">${escapeHtml(types.join(', '))}</span></li>`)
  const id = `${method}-${path}`.replace(/[^a-z]+/gi, '-')
  return `<section id="${id}">
<h3><b>${method}</b> <code>${escapeHtml(path)}</code></h3>
<p>${escapeHtml(summary)}.${description ? ` ${escapeHtml(description)}` : ''}</p>
${items.length > 0 ? `<ul>${items.join('')}</ul>` : ''}
<p class="dim">Who: ${escapeHtml(who)} · Answers: ${Object.keys(responses).join(', ')}</p>
</section>`
}

export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}

function lazily<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => (made ??= { value: make() }).value
}
