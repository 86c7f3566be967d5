/** The active edits, computed only from the events of edits, without a fold of the whole session. Pure. */
import type { Edit, Event } from '../model/types.ts'
import type { ActiveEdit } from './edits.ts'

export function editsInForce(events: Iterable<Event>): ActiveEdit[] {
  const known = new Map<string, Edit>()
  const active = new Set<string>()
  const activate = (ids: readonly string[]) => {
    for (const id of ids) active.add(id)
  }
  for (const event of events) {
    if (event.type === 'edit') {
      for (const edit of event.edits) known.set(edit.id, edit)
      activate(event.edits.map(({ id }) => id))
    }
    if (event.type === 'reapply') activate(event.edits)
    if (event.type === 'revert') for (const id of event.edits) active.delete(id)
  }
  return [...active].map((id, order) => ({ ...known.get(id)!, order }))
}
