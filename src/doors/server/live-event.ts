/** Events for listeners say that something changed, but not the change itself. */
export type LiveEvent =
  /** The session by its id in the ledger. */
  | { type: 'session.changed'; session: string; length: number; at: number }
  | { type: 'block.changed'; user: string; label: string; at: number }
  | { type: 'proposal.opened' | 'proposal.decided'; user: string; label: string; id: string; state: string; at: number }
