/** A failed request: its message and code, and a button to try again. */
import { ApiError, messageOf } from '../api.ts'
import { Button } from './button.tsx'

export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  return (
    <div className="failure" role="alert">
      <p>{messageOf(error)}</p>
      {error instanceof ApiError && <code>{error.code}</code>}
      {retry && (
        <Button small onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  )
}
