/** Which sessions belong to a project: the store's search by name finds all of them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPalimpsest } from '../../src/session/engine.ts'
import { folderName, isInProject } from '../../src/session/recall.ts'
import * as fc from '../property.ts'

const step = fc.constantFrom('a', 'app', 'my "app"', '.config', '..', '.', 'C:', 'ü', 'x\\y')
const slash = fc.constantFrom('/', '\\')
const path = fc
  .tuple(fc.constantFrom('', '/', 'C:\\', 'c:/'), fc.array(step, { maxLength: 4 }), slash)
  .map(([root, steps, slash]) => root + steps.join(slash))
/** A folder and a project; in most pairs the folder is below the project. */
const pair = fc.oneof(
  fc.tuple(path, path),
  fc.tuple(path, fc.array(step, { maxLength: 3 }), slash).map(([project, steps, slash]) => {
    return [[project, ...steps].join(slash), project] as const
  }),
)

test("the path of a folder in a project contains the last step of the project's path", () => {
  fc.assert(
    fc.property(pair, ([folder, project]) => {
      const name = folderName(project)
      fc.pre(name !== undefined && isInProject(folder, project))
      assert.ok(folder.includes(name!), `${folder} is in ${project}`)
    }),
  )
})

test('recall in a project finds its texts, however its folder is written', async () => {
  const pal = await openPalimpsest({ home: ':memory:', config: false })
  for (const [name, project] of [
    ['inside', 'D:\\work\\my "app"\\web'],
    ['beside', '/work/my'],
    ['nowhere', undefined],
  ] as const) {
    const session = await pal.session(name, project === undefined ? {} : { about: { project } })
    await session.append({ role: 'user', parts: [{ type: 'text', text: 'the harbour lights' }] })
  }
  const found = async (project: string) =>
    (await pal.recall('harbour', { project })).hits.map(({ session }) => session).sort()
  assert.deepEqual(await found('my "app"'), ['inside'])
  assert.deepEqual(await found('D:/work'), ['inside'])
  assert.deepEqual(await found('/work'), ['beside'])
  await pal.close()
})
