/**
 * OpenWebUI itself in a browser, with our /agent/v1 and a scripted model: a chat, a proposal with its link, the
 * approval on its page, memory in the next chat, a regenerated answer, an edited message, and a rejection by a word.
 */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { chromium, type Page } from 'playwright-core'
import { CHROMIUM_ARGS, findChromium } from '../../scripts/chromium.ts'
import { freePort } from '../../scripts/free-port.ts'
import { AgentDesk } from '../../src/agent/desk.ts'
import { openHome } from '../../src/agent/open.ts'
import { agentChat } from '../../src/doors/server/agent-chat.ts'
import { decidePages } from '../../src/doors/server/decide.ts'
import { serve } from '../../src/doors/server/server.ts'
import { openServerStore } from '../../src/doors/server/server-store.ts'
import { DecisionLinks } from '../../src/memory/decision-links.ts'
import { openMemory } from '../../src/memory/open.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import { modelEnv, type Received, startUpstream, type Turn } from '../upstream.ts'

const place = process.env['PALIMPSEST_OPEN_WEBUI']
const browserPath = findChromium()
const skip =
  place === undefined || browserPath === undefined
    ? 'run it with scripts/open-webui.sh test, where OpenWebUI and Chromium are installed'
    : false

/** The answers of the model: it proposes what the user wants to learn, and repeats what its prompt says. */
function answerTo({ json }: Received, index: number): Turn {
  const [system] = json.messages
  const last = json.messages.at(-1)
  const text = String(last.content)
  if (text.startsWith('### Task:')) return { text: '{"title":"A chat","tags":[],"follow_ups":[]}' }
  if (last.role === 'tool') return { text: 'Noted.' }
  const learns = /learn (\w+)/.exec(text)?.[1]
  if (learns) {
    const input = { block_label: learns.toLowerCase(), body: `Learns ${learns}.`, reasoning: 'You said so.' }
    return { calls: [{ name: 'propose_memory_block', input }] }
  }
  const knows = JSON.stringify(system).includes('Learns Go.') ? 'you learn Go' : 'nothing'
  return { text: `Answer ${index}: I know ${knows}.` }
}

async function startPalimpsest(folder: string) {
  const home = join(folder, '.agent')
  const upstream = await startUpstream(answerTo)
  const env = modelEnv(upstream, folder)
  const pal = await openPalimpsest({ home, config: false })
  const memory = await openMemory({ home, env })
  const agent = new AgentDesk(() => openHome({ home, env, root: folder, pal, memory }))
  const links = new DecisionLinks(randomBytes(32))
  const log = (line: string) => console.error(line)
  const mount = [agentChat(agent, { links, log }), decidePages(links)]
  const listening = await serve({
    port: 0,
    pal,
    memory,
    store: await openServerStore(home),
    agent,
    rate: false,
    mount,
    log,
  })
  return {
    url: listening.url,
    upstream,
    pal,
    memory,
    async close() {
      await listening.close()
      await upstream.close()
    },
  }
}

/** Resolves when it answers; first it creates its database. */
async function startOpenWebUI(folder: string, agentUrl: string) {
  const port = await freePort()
  mkdirSync(folder)
  const env = {
    ...process.env,
    DATA_DIR: folder,
    WEBUI_AUTH: 'False',
    WEBUI_SECRET_KEY: 'a secret of this test',
    ENABLE_FORWARD_USER_INFO_HEADERS: 'true',
    ENABLE_PERSISTENT_CONFIG: 'False',
    ENABLE_OLLAMA_API: 'false',
    OPENAI_API_BASE_URL: `${agentUrl}/agent/v1`,
    OPENAI_API_KEY: 'any',
    RAG_EMBEDDING_ENGINE: 'openai',
    OFFLINE_MODE: 'true',
    HF_HUB_OFFLINE: '1',
    ANONYMIZED_TELEMETRY: 'false',
    DO_NOT_TRACK: 'true',
  }
  const program = spawn(join(place!, 'bin/open-webui'), ['serve', '--host', '127.0.0.1', '--port', String(port)], {
    cwd: folder,
    env,
    stdio: 'ignore',
  })
  const url = `http://127.0.0.1:${port}`
  for (;;) {
    assert.equal(program.exitCode, null, 'OpenWebUI ended before it answered')
    const isUp = await fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    )
    if (isUp) return { url, stop: () => program.kill('SIGKILL') }
    await delay(1000)
  }
}

async function say(page: Page, text: string): Promise<void> {
  await page.locator('#chat-input').click()
  await page.keyboard.type(text)
  await page.keyboard.press('Enter')
}

const WORDS = /I know ([\w ]+)\./

test('OpenWebUI: chat, proposal, approval, memory in the next chat, regenerate, edit', { skip }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-owui-'))
  const server = await startPalimpsest(folder)
  const front = await startOpenWebUI(join(folder, 'data'), server.url)
  const browser = await chromium.launch({ executablePath: browserPath!, args: [...CHROMIUM_ARGS] })
  try {
    const context = await browser.newContext({ viewport: { width: 1200, height: 900 } })
    context.setDefaultTimeout(300_000)
    const page = await context.newPage()
    const newChat = async () => {
      await page.goto(front.url)
      await page.locator('#chat-input').waitFor()
    }
    await newChat()
    await page.getByRole('button', { name: /Okay, Let's Go/ }).click()

    await say(page, 'I want to learn Go')
    const link = page.getByRole('link', { name: 'look and decide' })
    const href = (await link.getAttribute('href')) ?? ''
    const [user = ''] = await server.memory.store.users()
    assert.equal((await server.memory.proposals(user, { state: 'open' })).length, 1)
    const decided = await context.newPage()
    await decided.goto(href)
    await decided.getByText('Learns Go.').waitFor()
    await decided.getByRole('button', { name: 'Approve' }).click()
    await decided.getByText('This proposal is approved.').waitFor()
    assert.equal((await server.memory.block(user, 'go'))?.body, 'Learns Go.')

    await newChat()
    await say(page, 'What do you know of me?')
    const answer = page.getByText(WORDS)
    assert.match(await answer.innerText(), /you learn Go/)
    const first = await answer.innerText()

    await page.getByRole('button', { name: 'Regenerate' }).last().click()
    await page.getByText('Try Again').click()
    await page.getByText(first).waitFor({ state: 'hidden' })
    await answer.waitFor()
    const second = await answer.innerText()
    assert.match(second, /you learn Go/)

    await page.getByText('What do you know of me?').last().hover()
    await page.getByRole('button', { name: 'Edit' }).first().click()
    await page.locator('textarea[id^="message-edit-"]').fill('And now, what do you know?')
    await page.locator('#confirm-edit-message-button').click()
    await page.getByText(second).waitFor({ state: 'hidden' })
    await answer.waitFor()
    const asked = server.upstream.requests.filter(({ body }) => body.includes('And now, what do you know?'))
    const edited = asked.find(({ json }) => !String(json.messages.at(-1).content).startsWith('### Task:'))
    assert.ok(edited && !edited.body.includes('What do you know of me?'), 'the way not taken is not sent')
    const sessions = await server.pal.sessions()
    assert.equal(sessions.length, 4, 'two chats, and a fork for each way back')

    await newChat()
    await say(page, 'I want to learn Rust')
    await page.getByText('for your decision').waitFor()
    await say(page, 'reject')
    await page.getByText('rust: rejected.').waitFor()
    assert.equal(await server.memory.block(user, 'rust'), undefined)

    const signature = href.split('.').at(-1)!
    assert.equal(signature.length, 43)
    for (const { body } of server.upstream.requests) assert.ok(!body.includes(signature), 'no model reads a link')
  } finally {
    await browser.close()
    front.stop()
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  }
})
