/** `tag` and `rename`: give a session tags, by which sessions are found, kept or removed together, and a title. */
import { defineCommand, listIn } from '../terminal/command.ts'
import { printable } from '../terminal/output.ts'

export const tag = defineCommand({
  name: 'tag',
  summary: 'add tags to a session, or show its tags',
  usage: 'SESSION [TAG...]',
  details:
    'Tags are your own words. sessions, recall and retention can filter by them: palimpsest sessions --tag work. Without TAG,\n' +
    'the tags of the session are shown.',
  examples: ['palimpsest tag fix-login work urgent', 'palimpsest tag fix-login --remove urgent'],
  options: { remove: { type: 'string', value: 'TAGS', about: 'remove these tags, separated by commas' } },
  async run({ args: [name = '', ...added], values, open }) {
    const pal = await open()
    const { tags: before = [] } = (await pal.mustFind(name)).about
    const removed = new Set(listIn(values.remove ?? ''))
    const isChange = added.length > 0 || removed.size > 0
    const tags = isChange ? await pal.setTags(name, [...before.filter(one => !removed.has(one)), ...added]) : before
    return { json: { session: name, tags }, text: () => tags.map(one => printable(one)) }
  },
})

export const rename = defineCommand({
  name: 'rename',
  summary: 'give a session a title, or show its title',
  usage: 'SESSION [TITLE]',
  details:
    'The web UI and shared files show the title instead of the first request; the session keeps its id. An\n' +
    "empty title ('') removes it.",
  examples: ['palimpsest rename fix-login "Sign-in fails after an update"'],
  options: {},
  async run({ args: [name = '', ...words], open }) {
    const pal = await open()
    if (words.length > 0) await pal.entitle(name, words.join(' '))
    const { title = '' } = (await pal.mustFind(name)).about
    return { json: { session: name, title }, text: () => (title === '' ? [] : [printable(title)]) }
  },
})
