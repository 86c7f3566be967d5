/** `secrets`: lists texts in the ledger that look like a key or token, with their places; never the secret itself. */

import { amount } from '../../model/text.ts'
import { allNames } from '../../session/every-session.ts'
import type { Found } from '../../session/find-secrets.ts'
import { defineCommand } from '../terminal/command.ts'
import { printable } from '../terminal/output.ts'

export const secrets = defineCommand({
  name: 'secrets',
  summary: 'find texts in the ledger that look like keys or tokens',
  usage: '[SESSION]',
  details:
    'In one session or in all. Finds keys of Anthropic, OpenAI, Google, AWS and Stripe, tokens of GitHub, GitLab, Slack, npm and\n' +
    'Palimpsest, JWTs and private keys, by their format. Prints the first four and last two characters. A password\n' +
    'without such a format is not found. Exits with 1 if something was found.',
  examples: ['palimpsest secrets', 'palimpsest secrets fix-login --json'],
  options: {},
  async run({ args: [only], open, openIfThere }) {
    const pal = only === undefined ? await openIfThere() : await open()
    const names = only === undefined ? (pal ? await allNames(pal) : []) : [only]
    const { secretsOf } = await import('../../session/find-secrets.ts')
    const found: Found[] = []
    for (const name of names)
      found.push(...(await secretsOf(await pal!.session(name, { mustExist: true, asGuest: true }))))
    return {
      json: { secrets: found },
      *text(paint) {
        for (const { session, event, type, entry, part, kind, hint } of found) {
          const place =
            entry === undefined ? `event ${event} (${type})` : `#${entry}${part === undefined ? '' : ` part ${part}`}`
          yield `${paint.bold(printable(session))} ${paint.cyan(place)}  ${kind}  ${paint.dim(printable(hint))}`
        }
      },
      notes: [
        found.length === 0
          ? `Nothing in ${amount(names.length, 'session')} looks like a secret.`
          : 'Anyone who can read the home can read them. Replace these keys at their providers.',
      ],
      exit: found.length > 0 ? 1 : 0,
    }
  },
})
