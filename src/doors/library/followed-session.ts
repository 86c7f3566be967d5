/**
 * What a door for an SDK needs of a session: it shows the conversation that the SDK holds, gets the view to send,
 * and says what the call used. Where the conversation went back and took another way, the session that answered
 * is the one to go on with.
 */
import type { Message, Usage } from '../../model/types.ts'

/** The part of a session that such a door uses; `Session` fits. */
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
