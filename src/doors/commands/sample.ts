/** `sample`: opens a sample session, created once under the name `sample`, and shows its end with what to try next. */
import { DEFAULT_HOME } from '../../model/defaults.ts'
import { defineCommand } from '../terminal/command.ts'
import { programName } from '../terminal/program.ts'

const SHOWN = 24

export const sample = defineCommand({
  name: 'sample',
  summary: 'create a sample session, show its end, and suggest what to try',
  usage: '',
  examples: ['palimpsest sample', 'palimpsest sample --home /tmp/try'],
  options: { full: { type: 'boolean', about: 'show whole texts' } },
  async run({ values, open, home, io }) {
    const { openSample, SAMPLE } = await import('../../session/sample.ts')
    const { reportView } = await import('./show.ts')
    const session = await openSample(await open({ create: true }))
    const report = await reportView(session, { full: values.full === true, last: SHOWN })
    const at = home === DEFAULT_HOME ? '' : ` --home ${home}`
    const distilled = session.edits().find(({ edit, active }) => active && edit.by === 'agent')
    const program = programName(io.env)
    const next = [
      ['all of it, from the first request on', `show ${SAMPLE}`],
      ['bring back the output that the agent distilled', `undo ${SAMPLE} ${distilled?.edit.id ?? '--last'}`],
      ['search what is no longer in view', `recall "weekly-report mailed" --session ${SAMPLE}`],
      ['see what else could be removed', `edit ${SAMPLE} --suggest`],
    ] as const
    return {
      json: report.json,
      *text(paint) {
        const shown = report.text(paint)
        yield* typeof shown === 'string' ? [shown] : shown
        yield '\nTry next:'
        for (const [what, command] of next) yield `  ${paint.bold(`${program} ${command}${at}`)}  ${paint.dim(what)}`
      },
    }
  },
})
