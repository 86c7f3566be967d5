/** The session in one sentence: what was saved, which later quotes were lost, and how often the cache was lost. */
import { useState } from 'react'
import type { Summary, Verdict, Would } from '../../api-types.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { count, fewer, money, percent, plural, tokens } from '../../ui/format.ts'
import { Info } from '../../ui/info.tsx'
import { InlineText } from '../../ui/text.tsx'
import { useSteering } from './actions.ts'
import { EditSubject, type EditSubjectProps } from './edit-subject.tsx'
import { MoneyBar } from './money-bar.tsx'
import { isBookkeeping, plainReason } from './reasons.ts'

export type VerdictProps = {
  verdict: Verdict | undefined
  summary: Summary | undefined
  would: Would | undefined
} & Pick<EditSubjectProps, 'bars' | 'onOpen'>

export function VerdictLine({ verdict, summary, would, bars, onOpen }: VerdictProps) {
  if (!verdict || !summary) return <div className="verdict-waiting" aria-busy="true" />
  return (
    <section className="session-verdict" aria-label="Verdict">
      <p className="verdict">
        <Sentence verdict={verdict} would={would} />
      </p>
      {would && <WouldLine {...{ would, bars, onOpen }} />}
      <MoneyBar {...verdict} />
      <Facts verdict={verdict} summary={summary} />
      {verdict.assumed.map(text => (
        <p key={text} className="notice notice-warn">
          <InlineText text={text} />.
        </p>
      ))}
    </section>
  )
}

/** A smaller saving comes from repairs and is not shown. */
const LEAST_SHARE = 0.002

function Sentence({ verdict, would }: Pick<VerdictProps, 'would'> & { verdict: Verdict }) {
  const { calls, saved, without, billed, quotes, lost, cacheLost, edits } = verdict
  if (calls === 0) return 'This session has cost nothing yet.'
  if (Math.abs(saved) < Math.max(0.005, without * LEAST_SHARE)) {
    return (
      <>
        Cost <b>{money(billed)}</b>
        {edits.length > 0 && quotes > 0 && `, ${count(lost)} of ${plural(quotes, 'later quote')} lost`},{' '}
        {cacheText(cacheLost)}.{would && <WouldCost would={would} />}
      </>
    )
  }
  return (
    <>
      {saved > 0 ? 'Saved ' : 'Edits cost '}
      <b className={saved > 0 ? 'saved' : 'lost'}>{money(Math.abs(saved))}</b> ({percent(Math.abs(saved) / without)})
      {quotes > 0 && `, ${count(lost)} of ${plural(quotes, 'later quote')} lost`}, {cacheText(cacheLost)}.
    </>
  )
}

/** Cache misses caused by edits first, then those with other causes. */
function cacheText({ edit = 0, pause = 0, ...others }: Verdict['cacheLost']): string {
  const other = Object.values(others).reduce((sum, each) => sum + each, 0)
  const lost = [pause > 0 && `to ${plural(pause, 'pause')}`, other > 0 && `${times(other)} by client or provider`]
  const words = [
    edit > 0 && `broken ${times(edit)}`,
    (pause > 0 || other > 0) && `lost ${lost.filter(Boolean).join(' and ')}`,
  ].filter(Boolean)
  return `cache ${words.length === 0 ? 'never broken' : words.join(' and ')}`
}

function times(number: number): string {
  return number === 1 ? 'once' : number === 2 ? 'twice' : `${count(number)} times`
}

function Facts({ verdict, summary }: { verdict: Verdict; summary: Summary }) {
  const { billed, without, saved, estimated, calls, copied } = verdict
  const { turns, tokens: size, edits } = summary
  return (
    <dl className="facts">
      <div>
        <dt>
          {estimated === calls ? 'Estimated bill' : 'Actual bill'}
          <Info text="Input, cache and output as reported by the provider for each call, at list prices; calls without a report are estimated." />
        </dt>
        <dd>
          {money(billed)}
          {estimated > 0 && estimated < calls && (
            <span>
              {' '}
              {count(estimated)} of {plural(calls, 'call')} estimated
            </span>
          )}
        </dd>
      </div>
      {Math.abs(saved) >= 0.005 && (
        <div>
          <dt>Without edits</dt>
          <dd>{money(without)}</dd>
        </div>
      )}
      <div>
        <dt>Turns</dt>
        <dd>
          {count(turns)}{' '}
          <span>
            {plural(calls, 'call')}
            {copied > 0 && `, and ${count(copied)} copied from the session above and counted there`}
          </span>
        </dd>
      </div>
      <div>
        <dt>
          Tokens now
          <Info text="The size of the next call, system prompt and tools included." />
        </dt>
        <dd>
          {tokens(size.shown)} <span>{tokensNote(size)}</span>
        </dd>
      </div>
      <div>
        <dt>Window</dt>
        <dd>
          {percent(size.shown / Math.max(1, size.window))} <span>of {tokens(size.window)}</span>
        </dd>
      </div>
      <div>
        <dt>Edits</dt>
        <dd>
          {count(edits)} <span>in force</span>
        </dd>
      </div>
    </dl>
  )
}

function tokensNote({ raw, shown }: Summary['tokens']): string {
  if (raw === shown) return 'all shown'
  if (raw > shown && tokens(raw) === tokens(shown)) return `${tokens(raw - shown)} fewer than the original`
  return raw > shown ? `of ${tokens(raw)}` : `${tokens(shown - raw)} more than the original`
}

/** For an imported session: what it would have cost. */
function WouldCost({ would: { policy, dollars, saved, share, evidence, edits } }: { would: Would }) {
  if (edits === 0 || saved < 0.005) return null
  return (
    <>
      {' '}
      With {policy} it would have cost {money(dollars)}:{' '}
      <b className="saved">
        {money(saved)} ({percent(share)}) less
      </b>
      , with {percent(evidence)} of later quotes still visible.
    </>
  )
}

type WouldProps = { would: Would } & Pick<EditSubjectProps, 'bars' | 'onOpen'>

/** The edits that would have been made, or why there would have been none. */
function WouldLine({ would, bars, onOpen }: WouldProps) {
  const [open, setOpen] = useState(false)
  const { policy, saved, edits } = would
  if (edits === 0)
    return <p className="would">With {policy} it would have cost the same, because it would have made no edits.</p>
  return (
    <p className="would">
      {saved < 0.005 && `With ${policy} it would have cost the same. `}
      <button type="button" className="link" onClick={() => setOpen(true)}>
        See the {plural(edits, 'edit')}
      </button>
      {open && <WouldDialog {...{ would, bars, onOpen }} onClose={() => setOpen(false)} />}
    </p>
  )
}

const MOST = 300

function WouldDialog({ would, bars, onClose, onOpen }: WouldProps & { onClose(): void }) {
  const real = would.list.filter(edit => !isBookkeeping(edit))
  const { scale } = useSteering()
  const open = (entry: number) => {
    onClose()
    onOpen(entry)
  }
  return (
    <Dialog wide title={`What ${would.policy} would have done`} onClose={onClose}>
      <p className="dim">
        {plural(real.length, 'edit')}, the most valuable first
        {would.edits > real.length && `; ${count(would.edits - real.length)} of book-keeping`}. Nothing was changed.
      </p>
      <ol className="would-edits">
        {real.slice(0, MOST).map(edit => (
          <li key={edit.id}>
            <b className="number">{money(edit.dollars)}</b>
            <EditSubject edit={edit} bars={bars} onOpen={open} />
            <span>
              <InlineText text={plainReason(edit.why)} />
            </span>
            <span className="dim">
              at call {count(edit.call)}, {fewer(edit.saved * scale)}
            </span>
          </li>
        ))}
      </ol>
    </Dialog>
  )
}
