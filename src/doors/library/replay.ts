/** `palimpsest/replay`: what a policy would have sent, and the transcripts of other agents. */
export {
  type ReadOptions,
  readSessions,
  readTranscript,
  readTranscriptStream,
  type SessionRead,
  type Transcript,
} from '../../formats/transcripts/read-transcript.ts'
export type { TranscriptSession } from '../../formats/transcripts/sessions.ts'
export type { TranscriptEvent } from '../../formats/transcripts/transcript.ts'
export type { Message } from '../../model/types.ts'
export { type ReplayOptions, type ReplayStep, replay } from '../../replay/replay.ts'
