/** Decisions on proposals. A notice confirms each one, and an approval can be undone from it. */

import { ApiError } from '../../api.ts'
import type { Proposal } from '../../api-types.ts'
import { plural } from '../../ui/format.ts'
import { useToasts } from '../../ui/toast.tsx'
import { approve, type OwnWords, reject, revert } from './memory-api.ts'

export function useDecisions(user: string, list: { leave(gone: readonly Proposal[]): void; reload(): void }) {
  const { leave, reload } = list
  const toasts = useToasts()
  const takeBack = async (proposals: readonly Proposal[]) => {
    for (const { id } of proposals) {
      if (await toasts.attempt(() => revert(user, id))) toasts.show({ text: 'Reverted.' })
    }
    reload()
  }
  const approveOne = async (proposal: Proposal, own?: OwnWords): Promise<boolean> => {
    const action = { label: 'Revert', run: () => void takeBack([proposal]) }
    const done = toasts.attempt(async () => {
      await approve(user, proposal.id, own)
      leave([proposal])
      toasts.show({ text: `Approved: ${proposal.label}.`, action })
    })
    return done.finally(reload)
  }
  return {
    approveOne,
    /**
     * One after the other, because a later proposal may build on an earlier one. Conflicting proposals stay open and
     * are reported.
     */
    async approve(proposals: readonly Proposal[]) {
      const [only] = proposals
      if (proposals.length === 1 && only) return void (await approveOne(only))
      const done: Proposal[] = []
      const left: string[] = []
      for (const proposal of proposals) {
        const error = await approve(user, proposal.id).then(
          () => undefined,
          failed => failed,
        )
        if (error === undefined) done.push(proposal)
        else if (error instanceof ApiError) left.push(proposal.label)
        else toasts.fail(error)
      }
      const rest =
        left.length > 0
          ? ` ${plural(left.length, 'proposal needs', 'proposals need')} your review: ${left.join(', ')}.`
          : ''
      leave(done)
      toasts.show({
        text: `Approved ${done.length}.${rest}`,
        action: done.length > 0 ? { label: 'Revert', run: () => void takeBack(done.toReversed()) } : undefined,
      })
      reload()
    },
    async reject(proposals: readonly Proposal[], why: string) {
      const done: Proposal[] = []
      for (const proposal of proposals) {
        if (await toasts.attempt(() => reject(user, proposal.id, why))) done.push(proposal)
      }
      leave(done)
      if (done.length > 0) toasts.show({ text: done.length === 1 ? 'Rejected.' : `Rejected ${done.length}.` })
      reload()
    },
    /** Throws the error of the server, so that a conflict can be shown and resolved. */
    async revert(proposal: Proposal, body?: string) {
      await revert(user, proposal.id, body)
      toasts.show({ text: `Reverted: ${proposal.label}.` })
      reload()
    },
  }
}
