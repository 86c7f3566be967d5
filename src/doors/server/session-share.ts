/** Route: a session as one HTML file to show to others. */
import { z } from 'zod'
import { safeName } from '../../policies/offload.ts'
import { sharePage } from '../../replay/share-page.ts'
import { defineRoute, PEOPLE, type Route } from './route.ts'
import { timed } from './session-timeline.ts'

const share = defineRoute({
  method: 'get',
  path: '/sessions/{session}/share',
  summary: 'A session as one HTML file for others to read; likely secrets are redacted',
  roles: PEOPLE,
  query: {
    hide_names: z
      .enum(['true', 'false'])
      .optional()
      .describe('Hide the title, the project and its folder, and names of users in paths.'),
  },
  type: 'text/html',
  answer: z.string(),
  run: ({ params, query, caller, doors }) =>
    doors.heavy.run(async () => {
      const session = await doors.desk.open(caller, params.session)
      const info = await timed(doors, caller, session)
      const summary = await doors.timelines.summary(session, info)
      const { owner, ...rest } = info
      const hidesNames = query.hide_names === 'true'
      const about = { ...rest, ...(owner === null ? {} : { owner }) }
      const { html } = await sharePage(session, { info: about, summary, hidesNames })
      const name = hidesNames ? 'session' : safeName(params.session)
      // The browser saves the file and never shows it from this origin.
      const headers = {
        'content-type': 'text/html; charset=utf-8',
        'content-disposition': `attachment; filename="${name}.html"`,
      }
      return new Response(html, { headers })
    }),
})

export const shareRoutes: readonly Route[] = [share]
