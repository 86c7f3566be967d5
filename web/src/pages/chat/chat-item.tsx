/** One item of a chat: a message, a tool call, a question, or a note about the engine. */
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { describeCall } from '../../../../src/calls/tool-kinds.ts'
import { hrefOf } from '../../route.ts'
import { Button } from '../../ui/button.tsx'
import { fewer } from '../../ui/format.ts'
import { Markdown } from '../../ui/markdown.tsx'
import { InlineText, Text } from '../../ui/text.tsx'
import type { ChatItem, ToolItem } from './chat-items.ts'

type ItemProps = { item: ChatItem; onAnswer?: (id: string, yes: boolean) => void }

export function ChatItemView({ item, onAnswer }: ItemProps): ReactNode {
  switch (item.kind) {
    case 'user':
      return (
        <div className="chat-user">
          <Text text={item.text} />
        </div>
      )
    case 'text':
      return (
        <div className="chat-text">
          <Markdown text={item.text} />
        </div>
      )
    case 'reasoning':
      return (
        <details className="chat-reasoning">
          <summary>Thought</summary>
          <Text text={item.text} />
        </details>
      )
    case 'tool':
      return <ToolView tool={item} {...(onAnswer ? { onAnswer } : {})} />
    case 'edits':
      return (
        <p className="chat-note">
          <span className="badge badge-accent">{fewer(item.saved)}</span> {item.decision}
        </p>
      )
    case 'retry':
      return (
        <p className="chat-note">
          <span className="badge badge-warn">again</span> {item.reason} Asked again after{' '}
          {(item.wait / 1000).toFixed(1)} s.
        </p>
      )
    case 'interrupted':
      return (
        <p className="chat-note">
          <span className="badge badge-warn">interrupted before</span> {item.names.join(', ')} never got a result; the
          agent knows.
        </p>
      )
    case 'delegated':
      return (
        <details className="chat-delegated card" open>
          <summary>
            Delegated to <a href={hrefOf('sessions', item.session)}>{item.session}</a>
          </summary>
          <div className="chat-items">
            {item.items.map((inner, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: items are only added at the end
              <ChatItemView key={i} item={inner} {...(onAnswer ? { onAnswer } : {})} />
            ))}
          </div>
        </details>
      )
    case 'done':
      return (
        <p className={item.reason === 'failed' ? 'notice notice-bad' : 'chat-note'} role="status">
          {item.message || ENDS[item.reason]}
        </p>
      )
  }
}

const ENDS = {
  aborted: 'Stopped.',
  steps: 'Stopped at the step limit for one turn.',
  tokens: 'Stopped at the token limit for one turn.',
  money: 'Stopped at the spending limit for one turn.',
  failed: 'The turn failed.',
}

function ToolView({ tool, onAnswer }: { tool: ToolItem; onAnswer?: (id: string, yes: boolean) => void }) {
  const [open, setOpen] = useState(false)
  const { name, input, result, approval, id } = tool
  const { path, command, query } = describeCall(name, input)
  const label = path ?? command ?? query
  const asks = approval !== undefined && approval.answer === undefined && result === undefined
  const state = result ? (result.isError ? 'failed' : 'done') : asks ? 'asks' : 'runs'
  return (
    <div className={`chat-tool chat-tool-${state}`}>
      <button type="button" className="chat-tool-head" aria-expanded={open} onClick={() => setOpen(old => !old)}>
        <span className="chat-tool-state" role="img" aria-label={STATES[state]} />
        <b>{name}</b>
        {label && (
          <code>
            <InlineText text={label} />
          </code>
        )}
      </button>
      {asks && <Question text={approval.question} onAnswer={yes => onAnswer?.(id, yes)} />}
      {approval?.answer === false && <p className="chat-note">You refused this.</p>}
      {open && (
        <div className="chat-tool-body">
          {input !== undefined && <Text text={JSON.stringify(input, undefined, 2) ?? ''} code />}
          {result && <Text text={result.text} code />}
        </div>
      )}
    </div>
  )
}

/** Takes the focus so that y and n answer, unless the user is typing. */
function Question({ text, onAnswer }: { text: string; onAnswer(yes: boolean): void }) {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const active = document.activeElement
    if (!(active instanceof HTMLTextAreaElement) || active.value === '') box.current?.focus()
  }, [])
  return (
    <div
      ref={box}
      className="chat-approval"
      role="alertdialog"
      aria-label="The agent asks for permission"
      tabIndex={-1}
    >
      <Text text={text} />
      <div className="actions">
        <Button small kind="primary" onClick={() => onAnswer(true)}>
          Allow <kbd>y</kbd>
        </Button>
        <Button small onClick={() => onAnswer(false)}>
          Refuse <kbd>n</kbd>
        </Button>
      </div>
    </div>
  )
}

const STATES = { done: 'done', failed: 'failed', asks: 'waiting for you', runs: 'runs' }
