/** Asks for a token if the server needs one. It is kept in this tab only. */
import { type FormEvent, useState } from 'react'
import { getJson, messageOf, storeToken } from './api.ts'
import { Button } from './ui/button.tsx'

export function SignIn({ onSignedIn }: { onSignedIn(): void }) {
  const [token, setToken] = useState('')
  const [problem, setProblem] = useState<string>()
  const [busy, setBusy] = useState(false)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    storeToken(token.trim())
    try {
      await getJson('/me')
      onSignedIn()
    } catch (error) {
      storeToken(undefined)
      setProblem(messageOf(error))
    } finally {
      setBusy(false)
    }
  }
  return (
    <form className="sign-in" onSubmit={submit}>
      <h1>Sign in</h1>
      <p>
        This server requires a token. Create one on the machine where it runs, and paste it here:
        <code>palimpsest token create --user NAME --role user</code>
      </p>
      <label>
        Token
        <input
          type="password"
          autoComplete="off"
          required
          value={token}
          onChange={event => setToken(event.target.value)}
          aria-describedby={problem ? 'sign-in-problem' : undefined}
          aria-invalid={problem !== undefined}
        />
      </label>
      {problem && (
        <p id="sign-in-problem" className="problem" role="alert">
          {problem}
        </p>
      )}
      <Button kind="primary" type="submit" disabled={busy}>
        Sign in
      </Button>
    </form>
  )
}
