/**
 * The part of a session that an adapter for an SDK needs: it passes the SDK's conversation, gets the view to send, and
 * reports the usage. If the conversation went back and continued differently, the view comes from another session, and
 * the adapter continues with that one.
 */
import type { Message, Usage } from '../../model/types.ts'

/** The methods of a session that such an adapter uses; `Session` has them. */
export type SyncSession = {
  sync(messages: Message[]): Promise<{ messages: Message[]; session?: SyncSession }>
  reportUsage(usage: Usage): Promise<void>
}

export class FollowedSession {
  #current: SyncSession

  constructor(session: SyncSession) {
    this.#current = session
  }

  async view(messages: Message[]): Promise<Message[]> {
    const { messages: shown, session } = await this.#current.sync(messages)
    if (session) this.#current = session
    return shown
  }

  report(usage: Usage): Promise<void> {
    return this.#current.reportUsage(usage)
  }
}
