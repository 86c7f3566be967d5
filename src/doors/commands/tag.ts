/** `tag` and `rename`: a user's own tags on a session, to find, keep or remove many at once, and its own title. */
import { defineCommand, listIn } from '../terminal/command.ts'
import { printable } from '../terminal/output.ts'

export const tag = defineCommand({
  name: 'tag',
  summary: 'put tags on a session, or show those it has',
  usage: 'SESSION [TAG...]',
  details:
    'Tags are words of your own. The list, the search and retention take them: palimpsest sessions --tag work. Without TAG\n' +
    'the tags of the session are shown.',
  examples: ['palimpsest tag fix-login work urgent', 'palimpsest tag fix-login --remove urgent'],
  options: { remove: { type: 'string', value: 'TAGS', about: 'take these off, separated by commas' } },
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
  summary: 'give a session a title, or show the one it has',
  usage: 'SESSION [TITLE]',
  details:
    'The list on the page and a shared file show the title instead of the first request; the session keeps its id. An\n' +
    "empty title ('') takes it back.",
  examples: ['palimpsest rename fix-login "Sign-in fails after an update"'],
  options: {},
  async run({ args: [name = '', ...words], open }) {
    const pal = await open()
    if (words.length > 0) await pal.entitle(name, words.join(' '))
    const { title = '' } = (await pal.mustFind(name)).about
    return { json: { session: name, title }, text: () => (title === '' ? [] : [printable(title)]) }
  },
})
