import { hrefOf } from '../../route.ts'
import { Bar } from '../../ui/bar.tsx'
import { count, money, percent, plural, tokens } from '../../ui/format.ts'
import { ContextMap } from '../session/context-map.tsx'
import { useSessionPart } from '../session/session-part.ts'

const FULL = 0.65

export function ContextSide({ session, round }: { session: string; round: number }) {
  const map = useSessionPart('/sessions/{session}/map', { session, length: round, query: { max: 400 } })
  const summary = useSessionPart('/sessions/{session}/summary', { session, length: round })
  const shown = map.value
  const sum = summary.value
  if (!shown) return null
  const used = shown.tokens.shown + shown.overhead
  const share = used / shown.window
  return (
    <aside className="chat-side card" aria-label="Context">
      <header className="chat-side-head">
        <h2>Context</h2>
        <a href={hrefOf('sessions', session)}>Open the session</a>
      </header>
      <div className="chat-window">
        <Bar
          share={share}
          tone={share > FULL ? 'warn' : 'plain'}
          label={`${count(used)} of ${count(shown.window)} tokens`}
        />
        <p>
          <b>{tokens(used)}</b> of {tokens(shown.window)} tokens, {percent(share)}
        </p>
      </div>
      <ContextMap map={shown} />
      {sum && (
        <dl className="facts">
          <div>
            <dt>calls</dt>
            <dd>{count(sum.calls)}</dd>
          </div>
          <div>
            <dt>edits</dt>
            <dd>{count(sum.edits)}</dd>
          </div>
          <div>
            <dt>kept out</dt>
            <dd>{tokens(Math.max(0, sum.tokens.raw - sum.tokens.shown))}</dd>
          </div>
          <div>
            <dt>cost</dt>
            <dd title="As reported by the provider; calls without a report are estimated">{money(sum.money.with)}</dd>
          </div>
        </dl>
      )}
      <p className="dim chat-side-note">
        {shown.calls === 0
          ? 'Nothing has been sent yet.'
          : `${plural(shown.calls, 'call')} so far; ${shown.cold ? 'the cache has expired' : `${tokens(shown.cached)} tokens are in the provider’s cache`}.`}
      </p>
    </aside>
  )
}
