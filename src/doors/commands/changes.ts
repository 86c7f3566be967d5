/** `changelog` and `file-at`: what a session did to files. */
import { defineCommand, wholeNumber } from '../terminal/command.ts'
import { printable } from '../terminal/output.ts'

export const changelog = defineCommand({
  name: 'changelog',
  summary: 'list file changes with the reasons that the agent gave for them',
  usage: 'SESSION',
  examples: ['palimpsest changelog fix-login', 'palimpsest changelog fix-login >> CHANGES.md'],
  options: {},
  async run({ args, session }) {
    const { changes, text } = await (await session(args[0]!)).changelog()
    return {
      json: { session: args[0], changes },
      text: () => (text === '' ? '' : `${printable(text)}\n`),
      notes: text === '' ? ['No files were changed.'] : [],
    }
  },
})

export const fileAt = defineCommand({
  name: 'file-at',
  summary: 'print a file as it was after a turn',
  usage: 'SESSION PATH [TURN]',
  details:
    'A turn is one model call, counted from 1 (the last one). The content goes to stdout unchanged; its sources go to stderr.\n' +
    'Exits with 1 if the content cannot be derived from the ledger.',
  examples: [
    'palimpsest file-at fix-login src/login.ts',
    'palimpsest file-at fix-login src/login.ts 12 > login.before.ts',
  ],
  options: {},
  async run({ args, session, io }) {
    const [name, path, turn] = args
    const opened = await session(name!)
    const state = await opened.fileStateAt(path!, turn === undefined ? opened.callsMade : wholeNumber(turn, 'TURN'))
    const { content, basis } = state
    const known = content !== undefined
    return {
      json: { session: name, path: state.path, turn: state.turn, known, content: content ?? null, basis },
      text: () => (io.stdout.isTTY ? printable(content ?? '') : (content ?? '')),
      notes: [
        known ? 'Based on:' : 'The content cannot be derived. What is known:',
        ...basis.map(line => `  ${printable(line)}`),
      ],
      exit: known ? 0 : 1,
    }
  },
})
