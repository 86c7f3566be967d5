/**
 * Routes: health, the OpenAPI document, and a page that shows it to people. The page is one piece of HTML without a
 * script; its style is named in the Content-Security-Policy by its hash, so that nothing else can run or load.
 */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Document, Operation } from './document.ts'
import { defineRoute, type Route } from './route.ts'

/** The routes about the server itself. The document is a function because it lists these routes too. */
export function docsRoutes(document: () => Document): readonly Route[] {
  const page = lazily(() => toPage(document()))
  return [
    defineRoute({
      method: 'get',
      path: '/healthz',
      summary: 'Whether the server works and reaches its stores',
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

/** The colours, type and frame of the web UI (web/src/styles/tokens.css). */
const STYLE = `
:root { color-scheme: light; --paper: #faf9f6; --sheet: #fff; --line: #e3dfd6; --ink: #211f1b; --ink-2: #5b564c; --dim: #6d675b;
  --accent: #34508f; --accent-soft: #e8edf8; --sunken: #f2f0eb; }
@media (prefers-color-scheme: dark) { :root { color-scheme: dark; --paper: #171613; --sheet: #1f1e1a; --line: #33312b; --ink: #ece8df;
  --ink-2: #b4aea1; --dim: #9d978a; --accent: #9db4ea; --accent-soft: #262d42; --sunken: #12110f; } }
* { box-sizing: border-box; }
html { background: var(--paper); color: var(--ink); scroll-padding-top: 60px;
  font: 14px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
body { margin: 0; }
header { position: sticky; top: 0; display: flex; gap: 20px; align-items: center; height: 48px; padding: 0 28px; overflow-x: auto;
  background: var(--paper); border-bottom: 1px solid var(--line); white-space: nowrap; }
header a { color: var(--ink-2); text-decoration: none; }
header .brand { color: var(--ink); font: 500 18px/1 "Iowan Old Style", Palatino, P052, Georgia, serif; }
main { max-width: 1080px; margin: 0 auto; padding: 28px 28px 96px; }
h1 { font: 500 26px/1.2 "Iowan Old Style", Palatino, P052, Georgia, serif; margin: 0 0 8px; }
h2, header a { text-transform: capitalize; }
h2 { font: 500 21px/1.2 "Iowan Old Style", Palatino, P052, Georgia, serif; margin: 34px 0 12px; }
a { color: var(--accent); }
code { font: 0.9em ui-monospace, "SF Mono", "JetBrains Mono", Menlo, monospace; overflow-wrap: anywhere; }
section { margin-bottom: 8px; padding: 12px 16px; border: 1px solid var(--line); border-radius: 8px; background: var(--sheet); }
h3 { font-size: 14px; margin: 0; }
h3 b { display: inline-block; min-width: 62px; margin-right: 6px; padding: 0 7px; border-radius: 9px; background: var(--accent-soft);
  color: var(--accent); font-size: 12px; text-align: center; text-transform: uppercase; }
p { margin: 4px 0; color: var(--ink-2); }
.dim { color: var(--dim); font-size: 12.5px; }
ul { margin: 4px 0; padding-left: 18px; }
@media (max-width: 720px) { header { gap: 14px; padding: 0 14px; } main { padding: 18px 14px 80px; } }
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
      `<h2 id="${escapeHtml(tag)}">${escapeHtml(tag)}</h2>\n${own.map(one => toSection(one.path, one.method, one.operation)).join('\n')}`,
  )
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(info.title)}</title>
<style>${STYLE}</style></head>
<body>
<header><a class="brand" href="/">Palimpsest</a>${groups.map(([tag]) => `<a href="#${escapeHtml(tag)}">${escapeHtml(tag)}</a>`).join('')}</header>
<main>
<h1>${escapeHtml(info.title)} <span class="dim">${escapeHtml(info.version)}</span></h1>
<p>${proseOf(info.description)}</p>
<p>For programs: <a href="/openapi.json"><code>/openapi.json</code></a></p>
${body.join('\n')}
</main>
</body>
</html>
`
}

function toSection(path: string, method: string, operation: Operation): string {
  const { summary, description, parameters, requestBody, responses, 'x-roles': roles } = operation
  const who = roles === 'public' ? 'anyone, without a token' : roles.join(', ')
  const items = parameters.map(({ name, in: where, required, description: about }) => {
    const needed = required ? '' : ', optional'
    return `<li><code>${escapeHtml(name)}</code> <span class="dim">${where}${needed}</span> ${proseOf(about ?? '')}</li>`
  })
  const types = Object.keys(requestBody?.content ?? {})
  if (types.length > 0) items.push(`<li>body <span class="dim">${escapeHtml(types.join(', '))}</span></li>`)
  const id = `${method}-${path}`.replace(/[^a-z]+/gi, '-')
  return `<section id="${id}">
<h3><b>${method}</b> <code>${escapeHtml(path)}</code></h3>
<p>${proseOf(summary)}.${description ? ` ${proseOf(description)}` : ''}</p>
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

/** Descriptions have their code in backticks. */
function proseOf(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>')
}
