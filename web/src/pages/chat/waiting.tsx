/** Tells the user in the chat that changes to their memory wait for a decision. */
import { useLive } from '../../live.ts'
import { useResource } from '../../resource.ts'
import { hrefOf } from '../../route.ts'
import { useEvery } from '../../ui/every.ts'
import { readUsers } from '../memory/memory-api.ts'

const LOOK_MS = 5000

export function Waiting() {
  const users = useResource('users', readUsers)
  useLive(event => {
    if (event.type.startsWith('proposal.') || event.type === 'reset') users.reload()
  })
  // Proposals and decisions of other processes send no event.
  useEvery(LOOK_MS, users.reload)
  const { own, users: all = [] } = users.value ?? {}
  const open = all.find(({ user }) => user === own)?.open ?? 0
  if (open === 0) return null
  return (
    <p className="notice chat-waiting" role="status">
      Memory: {open === 1 ? '1 change waits' : `${open} changes wait`} for your decision.{' '}
      <a href={hrefOf('memory')}>Review</a>
    </p>
  )
}
