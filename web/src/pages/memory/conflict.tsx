/**
 * Two changes to the same lines in three columns: the old text, the current text, and the proposed text. The choices
 * fill the text below, which can be edited before it is saved.
 */
import type { Region } from '../../api-types.ts'
import { Button } from '../../ui/button.tsx'
import { Text } from '../../ui/text.tsx'
import { OwnWordsEditor, useOwnWords } from './own-words.tsx'

export type ConflictData = {
  regions: readonly Region[]
  /** The merged text with conflict markers. */
  marked: string
  title: string
  titles?: { base: string; now: string; proposed: string } | undefined
}

type Disputed = Extract<Region, { type: 'conflict' }>

type ConflictProps = {
  conflict: ConflictData
  now: string
  /** The title of the third column. */
  proposedName?: string
  keepLabel: string
  busy: boolean
  onKeep(text: { body: string; title: string }): void
  onReject?: () => void
}

const MARKER = /^(?:<{7} now|\|{7} base|={7}|>{7} proposed)$/m

export function Conflict(props: ConflictProps) {
  const { conflict, now, proposedName = 'proposed', keepLabel, busy, onKeep, onReject } = props
  const own = useOwnWords({ body: conflict.marked, title: conflict.title })
  const places = conflict.regions.filter((region): region is Disputed => region.type === 'conflict')
  const isUnsettled = MARKER.test(own.body)
  const choose = (place: Disputed, text: string) => own.setBody(old => old.replace(markOf(place), () => text))
  return (
    <section className="conflict" aria-label="Conflict">
      <p className="notice notice-warn">
        This block has changed in the same {places.length === 1 ? 'place' : 'places'} since. Choose, or write what it
        should say.
      </p>
      {conflict.titles && (
        <div className="conflict-titles">
          Title: <Text text={conflict.titles.now} /> now, <Text text={conflict.titles.proposed} /> {proposedName}.
        </div>
      )}
      {places.map((place, i) => {
        const settled = !own.body.includes(markOf(place))
        const sides = [
          ['before', place.base],
          ['now', place.now],
          [proposedName, place.proposed],
        ] as const
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: the places of one conflict never move
          <div className="conflict-place" key={i} data-settled={settled}>
            {sides.map(([name, text]) => (
              <div key={name} className="conflict-side">
                <header>
                  <b>{name}</b>
                  <Button small disabled={settled} onClick={() => choose(place, text)}>
                    {name === 'before' ? 'Go back to this' : name === 'now' ? 'Keep this' : 'Use this'}
                  </Button>
                </header>
                {text === '' ? <p className="dim">nothing</p> : <Text text={text} code />}
              </div>
            ))}
            <div className="conflict-both">
              {settled ? (
                <span className="badge badge-good">settled</span>
              ) : (
                <Button small kind="quiet" onClick={() => choose(place, ended(place.now) + place.proposed)}>
                  Use both, one after the other
                </Button>
              )}
            </div>
          </div>
        )
      })}
      <OwnWordsEditor
        label="The block as you want it"
        own={own}
        now={now}
        problem={isUnsettled ? 'The text still has conflict markers.' : undefined}
      >
        <Button
          kind="primary"
          disabled={isUnsettled || busy}
          onClick={() => onKeep({ body: own.body, title: own.title })}
        >
          {keepLabel}
        </Button>
        {onReject && (
          <Button kind="danger" onClick={onReject}>
            Reject
          </Button>
        )}
      </OwnWordsEditor>
    </section>
  )
}

/** The conflict marker of the server for a place in the merged text. */
function markOf({ now, base, proposed }: Disputed): string {
  return `<<<<<<< now\n${ended(now)}||||||| base\n${ended(base)}=======\n${ended(proposed)}>>>>>>> proposed\n`
}

function ended(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`
}
