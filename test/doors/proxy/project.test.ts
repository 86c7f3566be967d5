import assert from 'node:assert/strict'
import { test } from 'node:test'
import { projectIn } from '../../../src/doors/proxy/project.ts'

test('the working folder is read from the messages of clients', () => {
  const bodies = [
    {
      system: [
        { type: 'text', text: 'You are…\n<env>\nWorking directory: /home/ann/my app\nIs directory a git repo: Yes' },
      ],
    },
    { instructions: 'x', input: [{ role: 'user', content: '<environment_context>\n  <cwd>/home/ann/my app</cwd>\n' }] },
    { messages: [{ role: 'system', content: '# Current Working Directory (/home/ann/my app) Files\na' }] },
    { contents: [{ parts: [{ text: "I'm currently working in the directory: /home/ann/my app\nHere" }] }] },
    { system: ' - Primary working directory: /home/ann/my app' },
  ]
  for (const body of bodies) assert.equal(projectIn(body), '/home/ann/my app', JSON.stringify(body))
  assert.equal(projectIn({ messages: [{ role: 'user', content: 'the working directory: unknown' }] }), undefined)
  assert.equal(projectIn({}), undefined)
})
