/** The title of a session: the first request that a person typed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requestIn, titleIn, typedIn } from '../../src/calls/requests.ts'

const CASES: [request: string, title: string | undefined][] = [
  ['Mend the report.\n\nIt leaves out Sunday.', 'Mend the report.'],
  [
    '# AGENTS.md instructions for /work\n\n<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>\n<environment_context>\nx\n</environment_context>',
    undefined,
  ],
  ['This session is being continued from a previous conversation that ran out of context.', undefined],
  ['<current_datetime>2026-06-24</current_datetime>\n\n# Task: Brainstorm a name', 'Task: Brainstorm a name'],
  [
    '<pr_description>\nConsider the following PR description:\nTIME_ZONE is not used\n</pr_description>',
    'TIME_ZONE is not used',
  ],
  [
    "<uploaded_files>\n/repo\n</uploaded_files>\nI've uploaded a C code repository in the directory x__0.1. Consider the following issue description:\n\n<issue_description>\nponyc segfaults\n\nSteps\n</issue_description>\n\nCan you help me?",
    'ponyc segfaults',
  ],
  ['Here is a demonstration of how to correctly accomplish this task.\nIt is included to show you …', undefined],
  ['> aider --lint\n> Models: x\nplease mend it', 'please mend it'],
  ['Implement the following plan:\n\n# Plan: Tree view', 'Plan: Tree view'],
  ['<div> is not closed in header.html', 'is not closed in header.html'],
  ['2 < 3, why?', '2 < 3, why?'],
  ['/mode', undefined],
  ['/review the last commit', '/review the last commit'],
  ['   ', undefined],
]

test('text that agents and benchmarks add before a request is not in its title', () => {
  for (const [request, title] of CASES) assert.equal(titleIn(request), title, request)
})

test('a text of only quotes or tags is handled in bounded time', () => {
  assert.equal(typeof titleIn('> quoted\n'.repeat(100_000)), 'string')
  assert.equal(titleIn('<a></a>'.repeat(100)), undefined)
})

test('a message added by the client is not a request, and a summary begins no turn', () => {
  const said = (text: string) => ({ role: 'user' as const, parts: [{ type: 'text' as const, text }] })
  const added = [
    '[file: D:\\site\\a.css]\n.a { color: red }',
    '[compact file reference: src/a.js]',
    '[deferred tools delta]\nWebFetch',
    '[hook additional context]\nBe brief.',
    '[task reminder]\n1. look',
    '[nested memory: /work/CLAUDE.md]\nUse tabs.',
    'Base directory for this skill: /skills/review\n\nReview it.',
  ]
  for (const text of added) assert.equal(requestIn(said(text)), undefined, text)
  const typed = ['[file] is not found, why?', '[URGENT: login]\nMend it.', 'commit', '/review']
  for (const text of typed) assert.equal(typedIn(said(text)), text, text)
  const goesOn = said('This session is being continued from a previous conversation that ran out of context.')
  assert.equal(typedIn(goesOn), undefined)
  assert.notEqual(requestIn(goesOn), undefined, 'a summary of the past is told to planners and summaries')
})
