/** Parts that the client's own compaction removed: shows them, and puts them back. */
import { useState } from 'react'
import { getJson } from '../../api.ts'
import { useResource } from '../../resource.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Failure } from '../../ui/failure.tsx'
import { count, plural } from '../../ui/format.ts'
import { InlineText, Text } from '../../ui/text.tsx'
import { useSteering } from './actions.ts'
import { useSessionPart } from './session-part.ts'

export function DroppedParts({ session, length }: { session: string; length: number }) {
  const found = useSessionPart('/sessions/{session}/dropped', { session, length })
  const { actions } = useSteering()
  const [chosen, setChosen] = useState<readonly string[]>([])
  const [looked, setLooked] = useState<string>()
  if (found.error !== undefined) return <Failure error={found.error} retry={found.reload} />
  const { before, parts } = found.value ?? { before: null, parts: [] }
  if (before === null) return null
  const there = chosen.filter(id => parts.some(part => part.id === id))
  const toggle = (id: string) => setChosen(there.includes(id) ? there.filter(one => one !== id) : [...there, id])
  const putBack = async () => {
    if (await actions.putBack(there)) setChosen([])
  }
  return (
    <section aria-label="Removed by a compaction">
      <h3>Removed by the agent’s own compaction</h3>
      <p className="dim">
        {parts.length === 0
          ? 'Nothing from the previous session is missing here.'
          : `No longer here: ${plural(parts.length, 'part')} of ${before}.`}
      </p>
      <ul className="editor-parts">
        {parts.map(part => (
          <li key={part.id} className="editor-part">
            <input
              type="checkbox"
              aria-label={`Put back: ${part.preview}`}
              checked={there.includes(part.id)}
              onChange={() => toggle(part.id)}
            />
            <div>
              <PartLines part={part} what={part.kind} onLook={() => setLooked(part.id)} />
            </div>
          </li>
        ))}
      </ul>
      {there.length > 0 && (
        <Button kind="primary" small onClick={() => void putBack()}>
          Put back {plural(there.length, 'part')}
        </Button>
      )}
      {looked !== undefined && <Original session={before} id={looked} onClose={() => setLooked(undefined)} />}
    </section>
  )
}

type PartLinesProps = { part: { tokens: number; preview: string }; what: string; onLook(): void }

/** The kind of a part, its size, and its first words. */
export function PartLines({ part, what, onLook }: PartLinesProps) {
  return (
    <>
      <p className="editor-line">
        <button type="button" className="link" onClick={onLook}>
          {what}
        </button>
        <b className="number">{count(part.tokens)}</b>
      </p>
      <p className="editor-preview">
        <InlineText text={part.preview} />
      </p>
    </>
  )
}

function Original({ session, id, onClose }: { session: string; id: string; onClose(): void }) {
  const text = useResource(`${session}\n${id}`, signal =>
    getJson('/sessions/{session}/original', { params: { session }, query: { id }, signal }),
  )
  return (
    <Dialog wide title="As it was before the compaction" onClose={onClose}>
      {text.error !== undefined && <Failure error={text.error} retry={text.reload} />}
      {text.value && <Text text={text.value.text} code />}
    </Dialog>
  )
}
