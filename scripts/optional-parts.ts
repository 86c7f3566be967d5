/**
 * Optional parts that some tests need. Without them these tests are skipped, and `npm test` prints one line for each
 * part.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { findDolt } from '../src/memory/dolt-server.ts'
import { findChromium } from './chromium.ts'
import { findPooler, findPostgres } from './postgres.ts'

export type OptionalPart = {
  name: string
  isHere: (root: string) => boolean
  /** How to get it, in a sentence. */
  how: string
}

export const OPTIONAL_PARTS: readonly OptionalPart[] = [
  {
    name: 'tests on recorded transcripts (no ../shared/traces)',
    isHere: root => existsSync(join(root, '../shared/traces')),
    how: 'Put transcripts of agents into that folder, one folder for each format.',
  },
  {
    name: 'tests with the MCP Inspector (not installed)',
    isHere: root => existsSync(join(root, 'node_modules/.cache/mcp-inspector/node_modules/.bin/mcp-inspector')),
    how: 'Get it with: npm run get:inspector',
  },
  {
    name: 'tests of the package on the oldest Node that it takes (not installed)',
    isHere: root => existsSync(join(root, OLDEST_NODE)),
    how: 'Get it with: npm run get:node22',
  },
  {
    name: 'tests on a real Dolt server (no dolt)',
    isHere: () => findDolt() !== undefined,
    how: 'Get it with: npm run dolt:install',
  },
  {
    name: 'tests on a real PostgreSQL server (no postgres)',
    isHere: () => findPostgres().length > 0,
    how: 'Get it with: npm run postgres:install (or apt-get install postgresql)',
  },
  {
    name: 'tests behind a pooler of connections (no pgbouncer)',
    isHere: () => findPooler() !== undefined,
    how: 'Install it (apt-get install pgbouncer).',
  },
  {
    name: 'tests of the chat on a pseudo-terminal (no python3)',
    isHere: () => spawnSync('python3', ['-c', 'import pty']).status === 0,
    how: 'Install Python 3.9 or later.',
  },
  {
    name: 'tests with faults of the disk (no cc, or not on Linux)',
    isHere: hasCompiler,
    how: 'Install a C compiler (apt-get install gcc).',
  },
  {
    name: 'tests of the web UI in a browser (no chromium)',
    isHere: () => findChromium() !== undefined,
    how: 'Install it (apt-get install chromium), or set CHROMIUM_PATH.',
  },
  {
    name: 'tests with an OpenTelemetry collector (no otelcol)',
    isHere: () => findCollector() !== undefined,
    how: 'Get it with: npm run otelcol:install (Go 1.26), or set OTELCOL_PATH.',
  },
  {
    name: 'npm run test:clients, the proxy with the agents that people use (not installed)',
    isHere: () => existsSync(clientsFolder()),
    how: 'Get them with: npm run clients:install',
  },
  {
    name: 'tests of recall by meaning on real weights (not installed)',
    isHere: () => embeddingFolder() !== undefined,
    how: 'Get them with: npm run embedding:install',
  },
  {
    name: 'scripts/open-webui.sh test, OpenWebUI in a browser on the agent (not installed)',
    isHere: () => existsSync(openWebUI()),
    how: 'Get it with: scripts/open-webui.sh install (Python 3.11)',
  },
  {
    name: 'the build of the site (not installed)',
    isHere: root => existsSync(join(root, 'site/node_modules')),
    how: 'Get its parts with: npm run site:install',
  },
  {
    name: 'the check of the Dockerfile by hadolint (not installed)',
    isHere: () => findHadolint() !== undefined,
    how: 'Get it with: scripts/hadolint.sh (Python 3)',
  },
  {
    name: 'tests of the gateway door with LiteLLM (not installed)',
    isHere: () => findLiteLLM() !== undefined,
    how: 'Get it with: scripts/litellm.sh install (Python 3.11)',
  },
  {
    name: 'tests with the peers of the benchmark (not installed)',
    isHere: root => existsSync(join(root, 'bench/node_modules/deepagents')),
    how: 'Get them with: npm run bench:install',
  },
]

/** Where `npm run get:node22` puts it, from the root of the checkout. */
export const OLDEST_NODE = 'node_modules/.cache/node-22/node_modules/node/bin/node'

export function hasCompiler(): boolean {
  return process.platform === 'linux' && spawnSync('cc', ['--version']).status === 0
}

/** The folder in which scripts/embedding.sh has put a model; undefined if there is none. */
export function embeddingFolder(): string | undefined {
  const folder = cached('PALIMPSEST_EMBEDDING', 'embedding')
  return existsSync(join(folder, 'model.onnx')) ? folder : undefined
}

/** Where scripts/clients.sh puts the agents. */
function clientsFolder(): string {
  return cached('PALIMPSEST_CLIENTS', 'clients/node_modules')
}

/** Where scripts/open-webui.sh puts its program. */
function openWebUI(): string {
  return join(cached('PALIMPSEST_OPEN_WEBUI', 'open-webui'), 'bin', 'open-webui')
}

/** The program of LiteLLM, where scripts/litellm.sh puts it. */
export function findLiteLLM(): string | undefined {
  const program = join(cached('PALIMPSEST_LITELLM', 'litellm'), 'bin', 'litellm')
  return existsSync(program) ? program : undefined
}

/** The program of hadolint, where scripts/hadolint.sh puts it. */
export function findHadolint(): string | undefined {
  const program = join(cached('PALIMPSEST_HADOLINT', 'hadolint'), 'bin', 'hadolint')
  return existsSync(program) ? program : undefined
}

/** A folder that a variable names, or one in the cache of this user. */
function cached(variable: string, folder: string): string {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  return process.env[variable] ?? join(cache, 'palimpsest', folder)
}

/** The OpenTelemetry collector that OTELCOL_PATH names, that scripts/otel-collector has built, or that is on the path. */
export function findCollector(): string | undefined {
  const built = cached('OTELCOL_PATH', 'otelcol/otelcol')
  return [built, 'otelcol'].find(path => spawnSync(path, ['--version']).status === 0)
}
