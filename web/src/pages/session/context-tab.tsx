/**
 * The context editor: the parts in view by cost, the price of removing them, stretches that could be removed, a stretch
 * of the user's choice, and parts that the client's own compaction removed. Every change is an edit and can be undone.
 */
import { useState } from 'react'
import type { EditPrice, Moment, PricedPart } from '../../api-types.ts'
import { Button } from '../../ui/button.tsx'
import { Failure } from '../../ui/failure.tsx'
import { price as cents, count, money, percent, plural, tokens } from '../../ui/format.ts'
import { Info } from '../../ui/info.tsx'
import { useSteering } from './actions.ts'
import { DroppedParts, PartLines } from './dropped-parts.tsx'
import { useSessionPart } from './session-part.ts'
import { Stretches } from './stretches.tsx'
import './context-tab.css'

type ContextTabProps = {
  session: string
  length: number
  moment: Moment | undefined
  /** The ids of the selected parts. */
  chosen: readonly string[]
  onChosen(ids: readonly string[]): void
  onOpen(entry: number): void
}

const LISTED = 20

export function ContextTab({ session, length, moment, chosen, onChosen, onOpen }: ContextTabProps) {
  const [limit, setLimit] = useState(LISTED)
  if (!moment) return <p className="dim">Reading …</p>
  const { parts, window, nextUsd, isCold } = moment
  const there = chosen.filter(id => parts.some(part => part.id === id))
  const toggle = (id: string) => onChosen(there.includes(id) ? there.filter(one => one !== id) : [...there, id])
  return (
    <div className="editor">
      <p className="dim">
        {tokens(moment.tokens)} of {tokens(window)} tokens ({percent(moment.tokens / Math.max(1, window))}). The next
        call costs {cents(nextUsd)}
        {isCold && ': the cache is cold, so edits are free now'}.
      </p>
      <section aria-label="Parts by cost">
        <h3>
          By cost{' '}
          <Info text="Tick parts to see the price of removing them before you do it. Quoted later: how often parts of this kind and age were quoted later in recorded sessions." />
        </h3>
        <ul className="editor-parts">
          {parts.slice(0, limit).map(part => (
            <PartRow
              key={part.id}
              part={part}
              isChosen={there.includes(part.id)}
              onToggle={() => toggle(part.id)}
              onOpen={onOpen}
            />
          ))}
        </ul>
        {parts.length > limit && (
          <Button small onClick={() => setLimit(old => old * 3)}>
            Show more ({count(parts.length - limit)})
          </Button>
        )}
      </section>
      {there.length > 0 && <PriceBar {...{ session, length, isCold }} ids={there} onDone={() => onChosen([])} />}
      <Stretches session={session} length={length} onOpen={onOpen} />
      <DroppedParts session={session} length={length} />
    </div>
  )
}

type PartRowProps = { part: PricedPart; isChosen: boolean; onToggle(): void; onOpen(entry: number): void }

function PartRow({ part, isChosen, onToggle, onOpen }: PartRowProps) {
  const what = part.tool ?? (part.kind === 'text' ? 'message' : part.kind)
  return (
    <li className="editor-part">
      <input
        type="checkbox"
        aria-label={`${what}, entry ${part.entry}, ${count(part.tokens)} tokens`}
        checked={isChosen}
        onChange={onToggle}
      />
      <div>
        <PartLines part={part} what={what} onLook={() => onOpen(part.entry)} />
        <p className="dim">
          {cents(part.perCallUsd)} a call
          {part.quotes !== null && `, quoted later ${part.quotes.toFixed(2)} times`}
        </p>
      </div>
    </li>
  )
}

type PriceBarProps = { session: string; length: number; ids: readonly string[]; isCold: boolean; onDone(): void }

/** The cost and the saving of removing the selected parts. */
function PriceBar({ session, length, ids, isCold, onDone }: PriceBarProps) {
  const { actions } = useSteering()
  const query = { drop: ids.join(',') }
  const asked = useSessionPart('/sessions/{session}/now', { session, length, query })
  const take = async () => {
    if (await actions.takeOut(ids)) onDone()
  }
  return (
    <section className="editor-price card" aria-label="Price">
      {asked.error !== undefined && <Failure error={asked.error} retry={asked.reload} />}
      {asked.value?.price && <PriceText price={asked.value.price} isCold={isCold} />}
      <p className="actions">
        <Button kind="primary" small disabled={asked.loading} onClick={() => void take()}>
          Remove {plural(ids.length, 'part')}
        </Button>
        <Button small kind="quiet" onClick={onDone}>
          Clear
        </Button>
      </p>
    </section>
  )
}

function PriceText({ price, isCold }: { price: EditPrice; isCold: boolean }) {
  const { rewritten, onceUsd, paysAfter, quotes } = price
  return (
    <>
      <p>
        <b>{plural(price.tokens, 'token')} less</b>, {cents(price.perCallUsd)} less with every call.
      </p>
      <p>
        {isCold
          ? 'Free now: the cache is cold, so the whole prompt is written again anyway.'
          : rewritten === 0
            ? 'No cache is lost.'
            : `${tokens(rewritten)} tokens after them must be written again, ${money(onceUsd)} once: ${
                paysAfter === null ? 'this never pays off' : `this pays off after ${plural(paysAfter, 'call')}`
              }.`}
      </p>
      <p className="dim">Similar parts of this age were quoted {quotes.toFixed(2)} times on average.</p>
    </>
  )
}
