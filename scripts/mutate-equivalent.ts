/**
 * Mutations that no test can detect, because the program behaves the same: a cache that is used less often, a shorter
 * way to the same value. `npm run mutate` prints each with its reason and does not count it. A row quotes the line of
 * the file; when the line changes, the row is an error until it is reviewed. A mutation that a better test could detect
 * does not belong here.
 */
import type { Mutation } from './mutations.ts'

type Row = {
  file: string
  /** The whole line of the change, without the blanks around it. */
  line: string
  /** Only for these changes of the line, where others of it can be noticed. */
  texts?: readonly string[]
  why: string
}

const ROWS: readonly Row[] = [
  {
    file: 'src/model/byte-pairs.ts',
    line: 'if (this.#rankOf(0, length) !== NONE) return 1',
    texts: ['false'],
    why: 'the bytes of every token of the table merge to that token; it only takes longer',
  },
  {
    file: 'src/model/byte-pairs.ts',
    line: 'for (let i = from; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193)',
    why: 'tokens are found under a worse hash too; it only takes longer',
  },
  {
    file: 'src/model/pieces.ts',
    line: 'if (lines > 0) return lines',
    texts: ['true', '>='],
    why: 'where no end is found the published pattern finds it; it only takes longer',
  },
  {
    file: 'src/model/text.ts',
    line: 'while (end > 0 && chars.includes(text[end - 1]!)) end--',
    texts: ['>='],
    why: 'there is no sign in front of the first one',
  },
  {
    file: 'src/planner/tuning.ts',
    line: 'const share = reads <= BREAK_READS ? 1 : (BREAK_READS / reads) ** BREAK_POWER',
    texts: ['<'],
    why: 'at the bound both sides are 1',
  },
  {
    file: 'src/files/lock.ts',
    line: 'for (let wait = 1; ; wait = Math.min(wait * 2, 32)) {',
    texts: ['/', 'max'],
    why: 'whoever waits gets the lock all the same; only the pauses between two attempts differ',
  },
  {
    file: 'src/files/glob.ts',
    line: 'for (let i = 0; i < signs.length; i++) {',
    texts: ['<='],
    why: 'the range behind the last one is of nothing to nothing, in which no sign is',
  },
  {
    file: 'src/model/lists.ts',
    line: 'if (insert.length < 10_000) {',
    texts: ['<=', 'false'],
    why: 'both ways give the same list; which one is taken shows nowhere',
  },
  {
    file: 'src/view/slots.ts',
    line: 'if ((slots[high]?.from ?? entry) <= entry) return high',
    texts: ['<', 'false'],
    why: 'the search finds the same slot; it only takes longer',
  },
  {
    file: 'src/view/part-map.ts',
    line: 'if (now.edits.join() === state.edits.join()) return',
    texts: ['false'],
    why: 'a change to the same state is the same state; it only takes memory',
  },
  {
    file: 'src/view/sync.ts',
    line: 'if (edits.length === 0) return message',
    texts: ['false'],
    why: 'a message without edits is rendered as itself; it only takes longer',
  },
  {
    file: 'src/view/sync.ts',
    line: 'if (key === undefined) {',
    texts: ['true'],
    why: 'the same key is made again; it only takes longer',
  },
  {
    file: 'src/view/sync.ts',
    line: 'keys.set(message, key)',
    why: 'the same key is made again; it only takes longer',
  },
  {
    file: 'src/view/sync.ts',
    line: 'return [part.type, part.id, part.name, outputKey(part.output), part.isError === true]',
    texts: ['!=='],
    why: 'the sign is the other one in every key, so the same keys are equal',
  },
  {
    file: 'src/view/shown-texts.ts',
    line: 'for (let i = 0; i < 5; i++) found = Math.imul(found, 2 - Math.imul(odd, found))',
    texts: ['<='],
    why: 'after five steps the inverse is found, and one more step gives the same',
  },
  {
    file: 'src/view/timeline.ts',
    line: "if (event.type === 'edit' || event.type === 'revert' || event.type === 'reapply') {",
    texts: ['true', '!=='],
    why: 'until the next call the view of the last one is the same before any event; it only takes longer',
  },
  {
    file: 'src/view/timeline.ts',
    line: 'paid: { dollars: 0, output: 0, estimated: true },',
    why: 'each call is priced before somebody can see it',
  },
  {
    file: 'src/view/timeline.ts',
    line: 'const key = `${name} ${Math.floor(at / HOUR)} ${this.#long}`',
    texts: ['*'],
    why: 'each time has a key of its own then, and the same row; it only takes longer',
  },
  {
    file: 'src/view/timeline.ts',
    line: 'if (!found) {',
    texts: ['true'],
    why: 'the same row is made again; it only takes longer',
  },
  {
    file: 'src/view/timeline.ts',
    line: 'this.#known.set(key, found)',
    why: 'the same row is made again; it only takes longer',
  },
  {
    file: 'src/view/timeline.ts',
    line: 'if (a === b) return true',
    texts: ['false'],
    why: 'a message has the same bytes as itself; it only takes longer',
  },
  {
    file: 'src/view/turns.ts',
    line: 'while (turns[place + 1] && turns[place + 1]!.entry <= entry) place++',
    texts: ['<'],
    why: 'a turn begins with a message of the user, which calls no tool',
  },
  {
    file: 'src/view/server-clears.ts',
    line: 'if (fold.serverClears === 0) return undefined',
    texts: ['false'],
    why: 'where no edit is a clear, none is asked for; it only takes longer',
  },
  {
    file: 'src/view/server-clears.ts',
    line: 'if (fold.serverClears === 0) return []',
    texts: ['false'],
    why: 'where no edit is a clear, none is active; it only takes longer',
  },
  {
    file: 'src/ledger/sqlite-index.ts',
    line: 'return [...lists].sort(([a], [b]) => (a < b ? -1 : 1))',
    texts: ['<='],
    why: 'no two lists have one name',
  },
  {
    file: 'src/view/slots.ts',
    line: 'while (inner.offsetsUpTo < slot) {',
    texts: ['<='],
    why: 'the place of one slot more is known earlier, and is the same',
  },
  {
    file: 'src/ledger/database.ts',
    line: 'if (!statement) this.#prepared.set(sql, (statement = this.#db.prepare(sql)))',
    texts: ['true'],
    why: 'a statement that is prepared again is the same statement; it only takes longer',
  },
  {
    file: 'src/ledger/ledger.ts',
    line: 'if (hashes.length === 0) return new Map()',
    texts: ['false'],
    why: 'a store that is asked for nothing gives nothing; it only takes longer',
  },
  {
    file: 'src/ledger/copying.ts',
    line: 'return { ...row, body, ...(own.length > 0 ? { contents: new Map(own) } : {}) }',
    texts: ['>=', 'true'],
    why: 'a row that comes with no texts adds none; it only takes longer',
  },
  {
    file: 'src/ledger/filling.ts',
    line: 'const contents = hashes.length > 0 ? yield* ask(tables.contents(hashes)) : new Map<string, string>()',
    texts: ['>=', 'true'],
    why: 'a store that is asked for nothing gives nothing; it only takes longer',
  },
  {
    file: 'src/ledger/restore.ts',
    line: 'for (let from = there.length; from < rows.length; from += EVENTS_PER_BATCH) {',
    texts: ['<='],
    why: 'one more append, of no events, changes nothing',
  },
  {
    file: 'src/ledger/filling.ts',
    line: "const call = parts.find((part): part is ToolCallPart => part.type === 'tool-call' && part.id === id)",
    texts: ['findLast'],
    why: 'no two calls of a message have one id',
  },
  {
    file: 'src/ledger/sqlite.ts',
    line: 'rows.length <= MOST_ROWS && rows.every(({ contents }) => !contents)',
    texts: ['<'],
    why: 'one statement and a transaction add the same rows; it only takes longer',
  },
  {
    file: 'src/ledger/sqlite-family.ts',
    line: 'if (unused.size === 0) return',
    texts: ['false'],
    why: 'a list of nothing is looked through and nothing is dropped; it only takes longer',
  },
  {
    file: 'src/model/byte-pairs.ts',
    line: 'for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i)',
    texts: ['<='],
    why: 'what is put behind the end of an array is not kept',
  },
  {
    file: 'src/model/json-text.ts',
    line: '} while (depth > 0 && at < text.length)',
    texts: ['<='],
    why: 'behind the end there is no sign that closes anything',
  },
  {
    file: 'src/model/json.ts',
    line: 'if (isKey(text, end)) return true',
    texts: ['true'],
    why: 'a text without such a key is respelled as it is; it only takes longer',
  },
  {
    file: 'src/model/json.ts',
    line: 'if (start < 0 || end === 0 || backslash < start) return undefined',
    texts: ['<='],
    why: 'no place has both a quote and a backslash',
  },
  {
    file: 'src/model/piece-counts.ts',
    line: 'if (length > SHORT_CHARS) return this.#countLong(text.slice(from, end))',
    texts: ['true'],
    why: 'a short piece is counted and remembered by its text as well; it only takes longer',
  },
  {
    file: 'src/files/lock.ts',
    line: 'if (turns.get(lock) === mine) turns.delete(lock)',
    texts: ['false', ';'],
    why: 'a turn that is over holds up nobody; it only takes memory, for each path',
  },
  {
    file: 'src/ledger/codec.ts',
    line: 'const isPlain = plain.length <= LARGE_CHARS || !holdsLarge(event)',
    texts: ['false', '<', '&&'],
    why: 'a short event has no large text; it only takes longer to look',
  },
  {
    file: 'src/ledger/codec.ts',
    line: 'if (!body.includes(MARK)) return []',
    texts: ['false'],
    why: 'the pattern finds nothing either; it only takes longer',
  },
  {
    file: 'src/ledger/codec.ts',
    line: 'const event = body.includes(MARK) ? withContents(body, contents) : parseStored<Event>(body)',
    texts: ['true'],
    why: 'where there is no reference nothing is put in; it only takes longer',
  },
  {
    file: 'src/ledger/redacting.ts',
    line: 'if (hashes.length === 0) return decodeEvent(body, new Map())',
    texts: ['false'],
    why: 'a store that is asked for nothing gives nothing; it only takes longer',
  },
  {
    file: 'src/ledger/sqlite.ts',
    line: 'if (low > high) return []',
    texts: ['false'],
    why: 'a stretch without places has no rows; it only takes longer',
  },
  {
    file: 'src/ledger/sqlite.ts',
    line: 'if (known) return known',
    texts: ['false'],
    why: 'it is read again, and is the same; it only takes longer',
  },
  {
    file: 'src/ledger/sqlite.ts',
    line: 'this.#lineages.set(id, lineage)',
    texts: [';'],
    why: 'it is read again, and is the same; it only takes longer',
  },
  {
    file: 'src/ledger/sqlite.ts',
    line: 'if (removals !== this.#removals) this.#lineages.clear()',
    texts: ['true'],
    why: 'what is forgotten is read again; it only takes longer',
  },
  {
    file: 'src/ledger/sqlite.ts',
    line: 'this.#used.delete(key)',
    texts: [';'],
    why: 'a session is brought up to date again, to the same time; it only takes longer',
  },
  {
    file: 'src/ledger/sqlite-index.ts',
    line: 'if (version === this.#version) return this.#list',
    texts: ['false'],
    why: 'the segments are compared one by one, and the same list is given; it only takes longer',
  },
  {
    file: 'src/ledger/sqlite-index.ts',
    line: 'statement.setReturnArrays?.(true)',
    texts: [';'],
    why: 'rows come as objects, as in older versions of Node; it only takes longer',
  },
  {
    file: 'src/ledger/sqlite-index.ts',
    line: 'const [segment, data] = Array.isArray(row) ? row : Object.values(row as Record<string, unknown>)',
    texts: ['false'],
    why: 'the values of an array are the array',
  },
  {
    file: 'src/ledger/sqlite-index.ts',
    line: "this.#db.exec('PRAGMA synchronous = NORMAL')",
    texts: [';'],
    why: 'the index is derived, and the commit waits for the disk; it only takes longer',
  },
  {
    file: 'src/ledger/database.ts',
    line: "this.#db.exec('PRAGMA synchronous = FULL')",
    texts: [';'],
    why: 'it is what SQLite does by itself in this build',
  },
  {
    file: 'src/ledger/indexer.ts',
    line: 'await sleep(REST * (performance.now() - begun), undefined, { ref: false })',
    texts: ['/', '+'],
    why: 'only the pause between two steps differs',
  },
  {
    file: 'src/ledger/removing.ts',
    line: 'yield* ask(tables.setParent(fork.key, above, above === null ? null : upTo))',
    texts: ['false'],
    why: 'where there is no parent the place is -1, which says the same as none',
  },
  {
    file: 'src/ledger/time-limit.ts',
    line: "context['work'] = undefined",
    texts: [';'],
    why: 'the work is kept a little longer, and not done again',
  },
  {
    file: 'src/files/lock.ts',
    line: 'await delay(Math.random() * wait + 0.5)',
    texts: ['/', '-'],
    why: 'whoever waits gets the lock all the same; only the pauses between two attempts differ',
  },
  {
    file: 'src/model/piece-counts.ts',
    line: 'if (this.#length++ < MOST_SHORT) slots.set([first, last, length, count], slot)',
    texts: ['<='],
    why: 'one piece more is remembered',
  },
  {
    file: 'src/model/pieces.ts',
    line: 'if (/[\\p{Lm}\\p{Lo}\\p{M}\\p{Cs}]/u.test(character)) return OTHER',
    texts: ['true'],
    why: 'where the kinds do not tell, the published pattern finds the end; it only takes longer',
  },
  {
    file: 'src/model/tokens.ts',
    line: 'if (!mayBeDense(text)) return countBlocks(text, countPieces)',
    texts: ['false'],
    why: 'a text without a dense run is cut into blocks in any case; it only takes longer',
  },
  {
    file: 'src/model/tokens.ts',
    line: 'if (!blank || blank.index >= from + length) return true',
    texts: ['true', '<', '-'],
    why: 'a text without a dense run is cut into blocks in any case; it only takes longer',
  },
  {
    file: 'src/model/pieces.ts',
    line: 'if (first === OTHER) return 0',
    texts: ['true'],
    why: 'where the kinds do not tell, the published pattern finds the end; it only takes longer',
  },
  {
    file: 'src/model/pieces.ts',
    line: 'if (second === OTHER) return 0',
    texts: ['true'],
    why: 'where the kinds do not tell, the published pattern finds the end; it only takes longer',
  },
  {
    file: 'src/model/pieces.ts',
    line: 'if (KIND_OF[codes[at]!] === OTHER) return 0',
    texts: ['true'],
    why: 'where the kinds do not tell, the published pattern finds the end; it only takes longer',
  },
  {
    file: 'src/model/pieces.ts',
    line: 'return at < from + LONGEST_NUMBER && KIND_OF[codes[at]!] === OTHER ? 0 : at',
    texts: ['true', '||', '<='],
    why: 'where the kinds do not tell, the published pattern finds the end; it only takes longer',
  },
  {
    file: 'src/model/tokens.ts',
    line: 'if (text.length < MIN_REMEMBERED_CHARS) return countText(text, countPieces)',
    texts: ['true', 'false', '<=', '>='],
    why: 'a text that is not remembered is counted again, to the same number; it only takes longer',
  },
  {
    file: 'src/model/tokens.ts',
    line: 'if (remembered > REMEMBERED_CHARS) {',
    texts: ['true'],
    why: 'what is forgotten is counted again, to the same number; it only takes longer',
  },
  {
    file: 'src/model/tokens.ts',
    line: 'for (let from = 0; from + length <= text.length; from += length) {',
    texts: ['<', '-'],
    why: 'a dense run has a whole stretch before the last one, or a text is taken for dense; it only takes longer',
  },
  {
    file: 'src/model/json.ts',
    line: 'if (end === 0) return false',
    texts: ['true', 'false'],
    why: 'a text with a string that does not end is no JSON, which the parser says in any case',
  },
  {
    file: 'src/model/search.ts',
    line: 'for (let i = from; i < text.length && found.length < most; i++) {',
    texts: ['<='],
    why: 'behind the end no character is one of the part, and only the first place is read of one too many',
  },
  {
    file: 'src/model/search.ts',
    line: 'for (let i = 1; i < part.length; i++) {',
    texts: ['<='],
    why: 'what is put behind the end of an array is not kept',
  },
  {
    file: 'src/view/binding.ts',
    line: 'if (this.#changes.length === 0) return []',
    texts: ['false'],
    why: 'where nothing was changed nothing is stale; it only takes longer',
  },
  {
    file: 'src/view/totals.ts',
    line: 'if (values.length <= most) return [...values]',
    texts: ['<', 'false'],
    why: 'each stretch is of one value then',
  },
  {
    file: 'src/model/pieces.ts',
    line: 'if (written > text.length) this.#shorten(written)',
    texts: ['true', '>='],
    why: 'a text of ASCII alone is put where it is; it only takes longer',
  },
  {
    file: 'src/ledger/sqlite-list.ts',
    line: "if (prefix !== (owner ?? '')) add('substr(s.id, 1, length(?)) = ?', prefix, prefix)",
    texts: ['true'],
    why: 'what is of an owner begins with the name of the owner; it only takes longer',
  },
  {
    file: 'src/files/atomic.ts',
    line: 'if (own.uid !== uid || own.gid !== gid) {',
    texts: ['true'],
    why: 'a file may be given to those to whom it belongs',
  },
  {
    file: 'src/files/table.ts',
    line: 'await sleep(Math.random() * Math.min(2 ** attempt, LONGEST_PAUSE_MS))',
    texts: [';', '/'],
    why: 'only the pauses between two attempts differ',
  },
  {
    file: 'src/view/fold.ts',
    line: 'if (isRange(edit.target)) fold.inner.outer = outermostRanges(fold.inner.ranges)',
    texts: ['true'],
    why: 'where no range changed the same ranges show; it only takes longer',
  },
  {
    file: 'src/view/fold.ts',
    line: 'if (edits.some(edit => isRange(edit.target))) inner.outer = outermostRanges(inner.ranges)',
    texts: ['true'],
    why: 'where no range changed the same ranges show; it only takes longer',
  },
  {
    file: 'src/view/legality.ts',
    line: 'for (const stretch of [...changed.filter(one => one.from < from), { from, to: messages.length }]) {',
    texts: ['<='],
    why: 'the last stretch begins at the same message, and no step is checked twice',
  },
  {
    file: 'src/view/messages.ts',
    line: "if (key === '__proto__') Object.defineProperty(copy, key, { ...PLAIN, value: copyJson(inner) })",
    texts: ['true'],
    why: 'both ways create the same property of another key; this one takes longer',
  },
  {
    file: 'src/view/messages.ts',
    line: 'this.#answering = base ? base.#answering : false',
    texts: ['true'],
    why: 'before the first message there is no step that an answer could continue',
  },
  {
    file: 'src/view/cuts.ts',
    line: 'if (!state) known.set(fold, (state = { seen: 0, ends: [], open: new Set(), answering: false }))',
    texts: ['true'],
    why: 'the same is computed anew each time, and before the first entry no results arrive; it only takes longer',
  },
  {
    file: 'src/view/cuts.ts',
    line: 'if (!goesOn && state.open.size > 0) state.open.clear()',
    texts: ['>='],
    why: 'there is nothing to clear; it only takes longer',
  },
  {
    file: 'src/view/fold.ts',
    line: 'if (fold.pins.size === 0) return false',
    texts: ['false'],
    why: 'nothing is found in an empty set; it only takes longer',
  },
  {
    file: 'src/view/fold.ts',
    line: "if (isRange(target)) return 'ranges'",
    texts: ['true'],
    why: 'edits of different entries never overlap in part; more pairs are compared',
  },
  {
    file: 'src/view/fold.ts',
    line: 'if (!sameShape) inner.offsetsUpTo = Math.min(inner.offsetsUpTo, first)',
    texts: ['true'],
    why: 'the same offsets are computed again; it only takes longer',
  },
  {
    file: 'src/view/fold.ts',
    line: 'if (span.to < wide.from || span.from > wide.to) continue',
    texts: ['<='],
    why: 'a range that ends with these entries is rebuilt whole right after them',
  },
  {
    file: 'src/ledger/sqlite-index.ts',
    line: 'return segment?.runs.some(({ session }) => keys.has(session)) ? [segment] : []',
    texts: ['true'],
    why: 'a segment that has none of the sessions is written again as it is; it only takes longer',
  },
  {
    file: 'src/doors/proxy/openai-responses.ts',
    line: "return fromOpenAIResponses(input, typeof instructions === 'string' ? instructions : undefined)",
    texts: ['true'],
    why: 'the adapter leaves out what is no text, too',
  },
  {
    file: 'src/doors/proxy/cache-marks.ts',
    line: 'while (same < messages.length && same < before.length && isSame(messages[same], before[same])) same++',
    texts: ['<='],
    why: 'behind both ends nothing has changed, so no mark is set in any case',
  },
  {
    file: 'src/doors/proxy/notices.ts',
    line: "if (text === '') return",
    texts: ['false'],
    why: 'an empty piece adds nothing to an answer',
  },
  {
    file: 'src/doors/proxy/conversation.ts',
    line: 'for (let i = chain.length - 1; i >= 0; i--) {',
    texts: ['+'],
    why: 'behind the last message there is no end that was seen',
  },
  {
    file: 'src/doors/proxy/request-facts.ts',
    line: 'for (let i = messages.length - 1; i >= 0; i--) {',
    texts: ['+'],
    why: 'behind the last message there is no mark',
  },
  {
    file: 'src/doors/proxy/splice-body.ts',
    line: 'if (known && known.to === to) return known.bytes === undefined',
    texts: ['false'],
    why: 'the same two values are compared again; it only takes longer',
  },
  {
    file: 'src/doors/proxy/stream.ts',
    line: 'look()',
    texts: [';'],
    why: 'Node also tells a new listener of what is there already, a moment later',
  },
  {
    file: 'src/files/folder.ts',
    line: 'if (folder !== userFolder(place, user)) await rename(folder, userFolder(place, user)).catch(() => {})',
    texts: ['true'],
    why: 'a folder that gets its own name stays as it is',
  },
  {
    file: 'src/files/lock.ts',
    line: 'if (performance.now() > giveUp) {',
    texts: ['>='],
    why: 'the moment at which the patience ends has no length',
  },
  {
    file: 'src/doors/proxy/late-tools.ts',
    line: 'for (let entry = from; entry < entries.length; entry++) {',
    texts: ['<='],
    why: 'behind the last entry there is no message',
  },
  {
    file: 'src/memory/diff.ts',
    line: "return RANGES.find(([first, last]) => code >= first && code <= last)?.[2] ?? 'invisible character'",
    texts: ['findLast'],
    why: 'no character is in two of the ranges',
  },
  {
    file: 'src/memory/sql.ts',
    line: 'const ordered = changes.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))',
    texts: ['<='],
    why: 'no two changes are of one block: the second would not find the version that it expects',
  },
  {
    file: 'src/memory/exchange.ts',
    line: 'for (let i = 0; i < changed.length; i += BATCH) {',
    texts: ['<='],
    why: 'one more write, of no blocks, changes nothing',
  },
  {
    file: 'src/memory/file-blocks.ts',
    line: 'let isExpected = false',
    texts: ['true'],
    why: 'it is set before it is read',
  },
  {
    file: 'src/memory/memory.ts',
    line: 'await setTimeout(Math.random() * 5 * i)',
    texts: [';', '/'],
    why: 'only the pauses between two attempts differ',
  },
  {
    file: 'src/memory/preferences.ts',
    line: 'if (end < 0) from = begin + 1',
    texts: ['<='],
    why: 'the end of a tag comes after its beginning',
  },
  {
    file: 'src/memory/schema.ts',
    line: 'const lines = (own.length > 0 ? own : errors).map(({ instanceLocation, error }) => {',
    texts: ['>=', 'true'],
    why: 'the validator gives an inner error with each of the errors that are left out',
  },
  {
    file: 'src/view/fold.ts',
    line: 'const range = fold.inner.outer.find(candidate => contains(candidate.target, entry))',
    texts: ['findLast'],
    why: 'no entry is in two of the outermost ranges',
  },
]

export const EXCUSED_FILES: readonly string[] = [...new Set(ROWS.map(({ file }) => file))]

/** The rows whose line is no longer in the file. */
export function staleRows(file: string, source: string): string[] {
  const lines = new Set(source.split('\n').map(line => line.trim()))
  return ROWS.flatMap(row => (row.file === file && !lines.has(row.line) ? [row.line] : []))
}

export function whyEquivalent(file: string, source: string, { start, text }: Mutation): string | undefined {
  const from = source.lastIndexOf('\n', start) + 1
  const to = source.indexOf('\n', start)
  const line = source.slice(from, to).trim()
  return ROWS.find(row => row.file === file && row.line === line && (row.texts?.includes(text) ?? true))?.why
}
