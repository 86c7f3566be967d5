/** The input field for messages to the agent: Enter sends, Shift+Enter starts a new line. */
import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { Button } from '../../ui/button.tsx'

type ComposerProps = { running: boolean; onSend(text: string): void; onStop(): void }

const MOST_ROWS = 10

export function Composer({ running, onSend, onStop }: ComposerProps) {
  const [text, setText] = useState('')
  const field = useRef<HTMLTextAreaElement>(null)
  // No focus on a phone: the keyboard would cover half of the page.
  useEffect(() => {
    if (matchMedia('(pointer: fine)').matches) field.current?.focus()
  }, [])
  const send = () => {
    if (text.trim() === '' || running) return
    onSend(text.trim())
    setText('')
  }
  const press = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    send()
  }
  return (
    <form
      className="composer card"
      onSubmit={event => {
        event.preventDefault()
        send()
      }}
    >
      <textarea
        aria-label="Message to the agent"
        placeholder="Ask the agent to do something"
        rows={Math.min(MOST_ROWS, Math.max(2, text.split('\n').length))}
        value={text}
        onChange={event => setText(event.target.value)}
        onKeyDown={press}
        ref={field}
      />
      <div className="composer-foot">
        <span className="dim">
          <kbd>Enter</kbd> sends, <kbd>Shift</kbd> <kbd>Enter</kbd> a new line
        </span>
        {running ? (
          <Button onClick={onStop}>Stop</Button>
        ) : (
          <Button type="submit" kind="primary" disabled={text.trim() === ''}>
            Send
          </Button>
        )}
      </div>
    </form>
  )
}
