/**
 * Slash commands about the model's view (/context /edits /suggest /replace /undo /redo /pin /unpin /compact /show
 * /recall) and about files (/changelog /file-at).
 */

import { stretchIn } from '../../agent/compact.ts'
import { PalimpsestError } from '../../model/errors.ts'
import { textOf } from '../../model/leaves.ts'
import { amount } from '../../model/text.ts'
import { tokensOf } from '../../view/fold.ts'
import { changelog, fileAt } from '../commands/changes.ts'
import { context } from '../commands/context.ts'
import { edit, edits, pin, redo, undo, unpin } from '../commands/edits.ts'
import { recall } from '../commands/recall.ts'
import { MarkdownStream } from '../terminal/markdown-stream.ts'
import { span } from '../terminal/spans.ts'
import { runCommand } from './cli-report.ts'
import { expandedLines } from './collapsed.ts'
import { contextLines } from './context-map.ts'
import type { Desk, Slash } from './desk.ts'

export const contextCommands: readonly Slash[] = [
  {
    name: 'context',
    usage: '[ID... [--yes]]',
    about:
      'show what fills the window and what edits save; with ids, the cost of removing these; with --yes, remove them',
    async run(desk, args) {
      const { screen, agent } = desk
      const ids = args.filter(arg => arg !== '--yes')
      if (ids.length === 0) return screen.print(...(await contextLines(agent.session, screen)))
      await runCommand(desk, context, { args: [agent.session.id, ...ids], values: { yes: args.includes('--yes') } })
    },
  },
  {
    name: 'edits',
    usage: '',
    about: 'list every edit with its id, reason and saving',
    run: desk => runCommand(desk, edits, { args: [desk.agent.session.id] }),
  },
  {
    name: 'suggest',
    usage: '',
    about: 'list stretches that could be removed with little loss: logs, traces, install output',
    run: desk => runCommand(desk, edit, { args: [desk.agent.session.id], values: { suggest: true } }),
  },
  {
    name: 'replace',
    usage: 'START ... END [=> TEXT]',
    about: 'replace a stretch, from START to END inclusive, with TEXT',
    run: (desk, words) => {
      const [start = '', rest = ''] = splitAt(words.join(' '), ' ... ')
      const [end = '', replacement = ''] = splitAt(rest, ' => ')
      if (start === '' || end === '') {
        throw new PalimpsestError(
          'INVALID_INPUT',
          'For example: /replace npm warn ... 0 vulnerabilities => [installed]',
        )
      }
      return runCommand(desk, edit, { args: [desk.agent.session.id], values: { start, end, replacement } })
    },
  },
  {
    name: 'changelog',
    usage: '',
    about: 'list file changes with their reasons',
    run: desk => runCommand(desk, changelog, { args: [desk.agent.session.id] }),
  },
  {
    name: 'file-at',
    usage: 'PATH [TURN]',
    about: 'show a file as it was after a turn',
    run: (desk, args) => {
      if (args.length < 1 || args.length > 2)
        throw new PalimpsestError('INVALID_INPUT', 'Name a file, and a turn if you like: /file-at src/a.ts 12')
      return runCommand(desk, fileAt, { args: [desk.agent.session.id, ...args] })
    },
  },
  switching('undo', 'undo edits; without ID, the last one', undo),
  switching('redo', 'redo undone edits', redo),
  pinning('pin', 'protect an entry from edits by policies and by the agent', pin),
  pinning('unpin', 'allow edits of an entry again', unpin),
  { name: 'compact', usage: '[FROM-TO]', about: 'replace old entries with a summary', run: compact },
  {
    name: 'show',
    usage: '[N]',
    about: 'expand a tool call or a thought by its number; without N, the last one',
    async run({ screen, collapsed }, [number]) {
      const item = collapsed.find(number === undefined ? undefined : Number(number))
      if (!item) throw new PalimpsestError('INVALID_INPUT', `There is nothing numbered ${number} (${collapsed.range}).`)
      screen.print(...expandedLines(item, screen))
    },
  },
  {
    name: 'recall',
    usage: 'WORDS',
    about: 'search everything that happened in this session, hidden or not',
    run: (desk, args) => {
      if (args.length === 0)
        throw new PalimpsestError('INVALID_INPUT', 'Give something to search for: /recall timezone')
      return runCommand(desk, recall, { args, values: { session: desk.agent.session.id } })
    },
  },
]

/** The text before and after the first occurrence of a mark. */
function splitAt(text: string, mark: string): string[] {
  const at = text.indexOf(mark)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + mark.length)]
}

function switching(name: string, about: string, command: typeof undo): Slash {
  return {
    name,
    usage: '[ID...]',
    about,
    run: (desk, ids) =>
      runCommand(desk, command, {
        args: [desk.agent.session.id, ...ids],
        values: ids.length === 0 ? { last: true } : {},
      }),
  }
}

function pinning(name: string, about: string, command: typeof pin): Slash {
  return {
    name,
    usage: '[ENTRY]',
    about: `${about} (without ENTRY, the last request)`,
    run: (desk, [entry]) => {
      const { session } = desk.agent
      return runCommand(desk, command, {
        args: [session.id, entry?.replace(/^#/, '') ?? String(session.fold.lastUser)],
      })
    },
  }
}

/** Says first which entries would be summarised; the summary is shown afterwards, and can be undone like any edit. */
async function compact(desk: Desk, [range]: readonly string[]): Promise<void> {
  const { agent, screen } = desk
  const stretch = await stretchIn(agent.session, range === undefined ? {} : rangeOf(range))
  if (!stretch) {
    throw new PalimpsestError(
      'INVALID_INPUT',
      'There is no complete step to summarise there. /context shows the entries.',
    )
  }
  const { from, to } = stretch
  const tokens = tokensOf(agent.session.fold, from, to)
  desk.say(`Entries #${from}–#${to}, ${amount(tokens, 'token')} in view, become one summary; the originals are kept.`)
  if (!(await desk.confirm('Summarise them?'))) return
  const edit = await agent.compact(stretch)
  const { replacement } = edit
  const text = typeof replacement === 'object' && replacement && 'messages' in replacement ? replacement.messages : []
  const summary = text.flatMap(({ parts }) => parts.map(textOf)).join('\n\n')
  const layout = { width: Math.min(screen.width, 110) - 2, marks: !screen.colour }
  const stream = new MarkdownStream(() => layout)
  screen.print(...[...stream.push(summary), ...stream.end()].map(line => [span('  '), ...line]))
  desk.say(`${edit.id}: ${amount(edit.saved, 'token')} saved. Undo: /undo ${edit.id}`, 'dim')
}

function rangeOf(text: string): { from?: number; to: number } {
  const [, from, to] = /^(?:#?(\d+)(?:-|–|\.\.))?#?(\d+)$/.exec(text) ?? []
  if (to === undefined) throw new PalimpsestError('INVALID_INPUT', 'Give the range as FROM-TO, as in /compact 2-40.')
  return { ...(from === undefined ? {} : { from: Number(from) }), to: Number(to) }
}
