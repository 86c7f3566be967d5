/**
 * The files of the web UI, served at `/` for paths that no route of the API has.
 *
 * The files are read once, when the server starts: any other path is not found, so no path leads out of the folder, and
 * a build that runs meanwhile cannot mix old files with new ones. The page may load from this server only, and nothing
 * inline. Files whose names carry a hash never change; the page itself is requested again each time.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join, sep } from 'node:path'
import { gzipSync } from 'node:zlib'
import { PalimpsestError } from '../../model/errors.ts'
import type { Mounted } from './server.ts'

type WebFile = {
  bytes: Uint8Array<ArrayBuffer>
  zipped: Uint8Array<ArrayBuffer> | undefined
  headers: Record<string, string>
}

/** The folders of the built UI: beside the built server, or in the dist of a checkout. */
const PLACES = [join(import.meta.dirname, '../../web'), join(import.meta.dirname, '../../../dist/web')]

const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.json': 'application/json',
  '.txt': 'text/plain; charset=utf-8',
  '.woff2': 'font/woff2',
}

const HASHED = /-[\w-]{8}\.\w+$/
const ZIP_FROM = 1024

/** The folder of the built UI, if it exists. */
export function findWeb(places: readonly string[] = PLACES): string | undefined {
  return places.find(place => existsSync(join(place, 'index.html')))
}

/** Serves the UI from the first folder that has it. If none has, there is nothing to mount. */
export function webMounts(places: readonly string[] = PLACES): Mounted[] {
  const folder = findWeb(places)
  if (folder === undefined) return []
  const files = readFiles(folder)
  return [{ prefix: '/', roles: 'public', handle: request => serveFile(files, request) }]
}

function serveFile(files: ReadonlyMap<string, WebFile>, request: Request): Response {
  const { pathname } = new URL(request.url)
  const file = files.get(pathname === '/' ? '/index.html' : pathname)
  if (!file) throw new PalimpsestError('NOT_FOUND', 'There is nothing at this path. See /docs.')
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    throw new PalimpsestError('METHOD_NOT_ALLOWED', 'This path takes GET.', { allow: 'GET, HEAD' })
  }
  const headers = new Headers(file.headers)
  if (request.headers.get('if-none-match') === file.headers['etag']) return new Response(null, { status: 304, headers })
  const zips = file.zipped && /\bgzip\b/.test(request.headers.get('accept-encoding') ?? '')
  const bytes = zips && file.zipped ? file.zipped : file.bytes
  if (zips) headers.set('content-encoding', 'gzip')
  headers.set('content-length', String(bytes.byteLength))
  return new Response(request.method === 'HEAD' ? null : bytes, { headers })
}

function readFiles(folder: string): Map<string, WebFile> {
  const files = new Map<string, WebFile>()
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name.startsWith('.')) continue
    const path = join(entry.parentPath, entry.name)
    files.set(path.slice(folder.length).replaceAll(sep, '/'), readWebFile(path))
  }
  return files
}

function readWebFile(path: string): WebFile {
  const bytes = new Uint8Array(readFileSync(path))
  const type = TYPES[extname(path)] ?? 'application/octet-stream'
  const isPage = extname(path) === '.html'
  const zipped = bytes.length >= ZIP_FROM && !/png|woff/.test(type) ? new Uint8Array(gzipSync(bytes)) : undefined
  const headers: Record<string, string> = {
    'content-type': type,
    etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
    'cache-control': HASHED.test(path) ? 'public, max-age=31536000, immutable' : 'no-cache',
    ...(zipped ? { vary: 'accept-encoding' } : {}),
    ...(isPage ? { 'content-security-policy': PAGE_POLICY } : {}),
  }
  return { bytes, zipped, headers }
}
