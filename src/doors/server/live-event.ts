/** What listeners are told: that something changed, and not the change. */
export type LiveEvent =
  /** The session by its id in the ledger. */
  | { type: 'session.changed'; session: string; length: number; at: number }
  | { type: 'block.changed'; user: string; label: string; at: number }
  | { type: 'proposal.opened' | 'proposal.decided'; user: string; label: string; id: string; state: string; at: number }
