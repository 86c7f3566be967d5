/** "Compact from here to here": the summary to show instead, which can be read and changed before it is used. */
import { useState } from 'react'
import { headOf } from '../../../../src/model/text.ts'
import { messageOf, sendJson } from '../../api.ts'
import type { CompactPreview } from '../../api-types.ts'
import { useResource } from '../../resource.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { count, fewer, plural } from '../../ui/format.ts'
import { InlineText } from '../../ui/text.tsx'
import { type Actions, useSteering } from './actions.ts'

type CompactDialogProps = {
  session: string
  from: number
  to: number
  last: number
  actions: Actions
  onClose(): void
}

export function CompactDialog({ session, last, actions, onClose, ...chosen }: CompactDialogProps) {
  const [range, setRange] = useState({ from: chosen.from, to: chosen.to })
  const [own, setOwn] = useState<string>()
  const [busy, setBusy] = useState(false)
  const body = { ...range, ...(own === undefined ? {} : { text: own }) }
  const preview = useResource(
    JSON.stringify(body),
    async signal => {
      await pause(own === undefined ? 0 : TYPING_MS, signal)
      return sendJson('POST', '/sessions/{session}/compact/preview', { params: { session }, body })
    },
    { keep: true },
  )
  const shown = preview.value
  const problem = preview.error === undefined ? shown?.problem : messageOf(preview.error)
  const change = (part: Partial<typeof range>) => {
    setRange(old => ({ ...old, ...part }))
    setOwn(undefined)
  }
  const apply = async () => {
    if (!shown) return
    setBusy(true)
    if (await actions.compact(shown.from, shown.to, own ?? shown.text)) onClose()
    setBusy(false)
  }
  return (
    <Dialog
      wide
      title="Compact a stretch"
      onClose={onClose}
      action={{ label: 'Use this summary', run: apply, disabled: busy || preview.loading || !shown || !!problem }}
    >
      <div className="compact-range">
        <EntryInput label="From entry" value={range.from} max={range.to} onChange={from => change({ from })} />
        <EntryInput label="to entry" value={range.to} min={range.from} max={last} onChange={to => change({ to })} />
        {shown?.narrowed && (
          <p className="dim">
            Narrowed to complete steps: entries {shown.from}–{shown.to}.
          </p>
        )}
      </div>
      <label>
        The model will read this instead
        <textarea
          rows={14}
          value={own ?? shown?.text ?? ''}
          placeholder={preview.loading ? 'Writing a summary …' : ''}
          onChange={event => setOwn(event.target.value)}
        />
      </label>
      {shown && <PreviewNumbers preview={shown} />}
      {problem && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
    </Dialog>
  )
}

function PreviewNumbers({ preview: { tokens, rewritten, request } }: { preview: CompactPreview }) {
  const { scale } = useSteering()
  const said = (size: number) => plural(Math.round(size * scale), 'token')
  return (
    <>
      <p>
        {said(tokens.replaced)} become {count(Math.round(tokens.summary * scale))}: <b>{fewer(tokens.saved * scale)}</b>{' '}
        in every later call. <span className="dim">The {said(rewritten)} after it are written to the cache again.</span>
      </p>
      {request && (
        <p className="dim">
          The last request is kept: “<InlineText text={headOf(request, 160)} />”
        </p>
      )}
    </>
  )
}

type EntryInputProps = { label: string; value: number; min?: number; max: number; onChange(value: number): void }

function EntryInput({ label, value, min = 0, max, onChange }: EntryInputProps) {
  return (
    <label>
      {label}
      <input
        type="number"
        min={min}
        max={max}
        value={value}
        onChange={({ target }) => target.validity.valid && target.value !== '' && onChange(Number(target.value))}
      />
    </label>
  )
}

const TYPING_MS = 300

/** While the user types, the new numbers are requested after a pause. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    setTimeout(() => (signal.aborted ? reject(signal.reason) : resolve()), ms)
  })
}
