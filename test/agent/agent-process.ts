/**
 * An agent in a separate process, so that a test can kill it: `node agent-process.ts <folder> <url> <request>`; without
 * a request it resumes.
 */
import { join } from 'node:path'
import { openAgent } from '../../src/agent/agent.ts'
import { openModel } from '../../src/agent/model.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import { PERSONA } from './harness.ts'

const [folder = '', url = '', request] = process.argv.slice(2)
const window = Number(process.env['TEST_WINDOW'] ?? 200_000)
const pal = await openPalimpsest({ home: join(folder, 'home'), config: false, models: { 'gpt-4.1': { window } } })
const agent = await openAgent('work', {
  pal,
  workspace: join(folder, 'workspace'),
  root: folder,
  persona: PERSONA,
  model: await openModel({ provider: 'openai-compatible', name: 'gpt-4.1', baseUrl: `${url}/v1` }),
  allow: { all: true },
  limits: { steps: 1_000, money: 1_000 },
})
for await (const event of request === undefined ? agent.resume() : agent.run(request)) {
  process.stdout.write(`${JSON.stringify(event)}\n`)
}
await pal.close()
