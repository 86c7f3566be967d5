/** `share`: a session as one HTML file to show to others. */
import { amount } from '../../model/text.ts'
import { defineCommand, writeOutput } from '../terminal/command.ts'
import { printable } from '../terminal/output.ts'

export const share = defineCommand({
  name: 'share',
  summary: 'write a session as one HTML file for others to read',
  usage: 'SESSION',
  details:
    'Shows the original conversation, what the model saw instead, and why. The file works offline, loads nothing and\n' +
    'runs no scripts. Text that looks like a secret is redacted. Read it before you send it: it has everything else.',
  examples: ['palimpsest share fix-login', 'palimpsest share fix-login --out demo.html --hide-names'],
  options: {
    out: { type: 'string', value: 'FILE', about: 'the file to write (SESSION.html)' },
    'hide-names': { type: 'boolean', about: 'hide the title, the project and its folder, and names of users in paths' },
  },
  async run({ args: [name = ''], values, open }) {
    const { sharePage } = await import('../../replay/share-page.ts')
    const { readTimeline } = await import('../../session/timelines.ts')
    const { summaryOf } = await import('../../view/totals.ts')
    const { safeName } = await import('../../policies/offload.ts')
    const pal = await open()
    const info = await pal.mustFind(name)
    const session = await pal.session(name, { mustExist: true })
    const summary = summaryOf(await readTimeline(pal, info))
    const hidesNames = values['hide-names'] === true
    const { html, secrets } = await sharePage(session, { info, summary, hidesNames })
    const out = values.out ?? `${hidesNames ? 'session' : safeName(name)}.html`
    await writeOutput(out, html)
    const covered = secrets === 0 ? [] : [`Text that looks like a secret was redacted in ${amount(secrets, 'place')}.`]
    return {
      json: { session: name, file: out, bytes: Buffer.byteLength(html), secrets },
      text: () => [printable(out)],
      notes: [...covered, 'Read the file before you send it.'],
    }
  },
})
