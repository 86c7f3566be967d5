/** `changelog` and `file-at`: what a session did to files. */
import { defineCommand, wholeNumber } from '../terminal/command.ts'
import { printable } from '../terminal/output.ts'

export const changelog = defineCommand({
  name: 'changelog',
  summary: 'list the changes of files with their reasons, from the intents of the edits',
  usage: 'SESSION',
  examples: ['palimpsest changelog fix-login', 'palimpsest changelog fix-login >> CHANGES.md'],
  options: {},
  async run({ args, session }) {
    const { changes, text } = await (await session(args[0]!)).changelog()
    return {
      json: { session: args[0], changes },
      text: () => (text === '' ? '' : `${printable(text)}\n`),
      notes: text === '' ? ['No file was changed.'] : [],
    }
  },
})

export const fileAt = defineCommand({
  name: 'file-at',
  summary: 'rebuild a file as it was after a turn',
  usage: 'SESSION PATH [TURN]',
  details:
    'A turn is a call of the model, counted from 1; the last one unless given. The content goes to stdout as it is, what it is based on to stderr.\n' +
    'Ends with 1 when the ledger does not know the content.',
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
        known ? 'Based on:' : 'The content cannot be known. What there is:',
        ...basis.map(line => `  ${printable(line)}`),
      ],
      exit: known ? 0 : 1,
    }
  },
})
