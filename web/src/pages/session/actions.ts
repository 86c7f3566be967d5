/**
 * The user's actions on the view of a session. Each is one request to the API; a notice confirms it and offers to undo
 * it, and the page reloads.
 */
import { createContext, useContext, useMemo } from 'react'
import { getJson, sendJson } from '../../api.ts'
import type { ContextRequest, Edit } from '../../api-types.ts'
import { hrefOf, navigate } from '../../route.ts'
import { fewer } from '../../ui/format.ts'
import { useToasts } from '../../ui/toast.tsx'

export type Place = { entry: number; part: number; hash: string }

export type Actions = {
  discard(place: Place): Promise<void>
  distill(place: Place, summary: string): Promise<void>
  restore(place: Place): Promise<void>
  undo(edit: string): Promise<void>
  redo(edit: string): Promise<void>
  pin(entry: number, part?: number): Promise<void>
  unpin(entry: number, parts: readonly number[]): Promise<void>
  fork(at: number): Promise<void>
  compact(from: number, to: number, text: string): Promise<boolean>
  takeOut(ids: readonly string[]): Promise<boolean>
  replace(operation: Replacement): Promise<boolean>
  putBack(ids: readonly string[]): Promise<boolean>
}

/** From one text to another, inclusive. */
export type Replacement = { start: string; end: string; replacement: string }

/** `scale` is the number of the provider's tokens per token of ours. */
export function useActions(session: string, reload: () => void, scale: number): Actions {
  const { show, attempt } = useToasts()
  return useMemo(() => {
    const params = { session }
    const setPin = (body: { entry: number; part?: number; on?: boolean }) =>
      sendJson('POST', '/sessions/{session}/pin', { params, body })
    // The page reloads in any case: a failure may be due to a change by others.
    const run = (work: () => Promise<void>) => attempt(work).finally(reload)
    const { undo, redo } = switches(session, run, show)
    const made = (text: string, ...edits: (Edit | undefined)[]) => {
      const undoAll = async () => {
        for (const edit of edits) if (edit) await undo(edit.id)
      }
      show({ text, action: edits[0] && { label: 'Undo', run: () => void undoAll() } })
    }
    const change = (what: string, body: ContextRequest) =>
      run(async () => {
        const { edits, tokensSaved } = await sendJson('POST', '/sessions/{session}/edits', { params, body })
        made(`${what}: ${fewer(tokensSaved * scale)}.`, ...edits)
      })
    return {
      undo,
      redo,
      discard: async ({ hash }) => void (await change('Discarded', { action: 'discard', targets: [[hash]] })),
      distill: async ({ hash }, summary) =>
        void (await change('Shortened', { action: 'distill', targets: [[hash, summary]] })),
      takeOut: ids => change('Removed', { action: 'discard', targets: ids.map(id => [id]) }),
      replace: operation => change('Replaced', { action: 'replace', targets: [operation] }),
      putBack: ids =>
        run(async () => {
          const { edits } = await sendJson('POST', '/sessions/{session}/dropped', { params, body: { ids: [...ids] } })
          made('Put back, after the message that continues the conversation.', ...edits)
        }),
      restore: async ({ hash, entry }) => {
        await run(async () => {
          const { edit } = await sendJson('POST', '/sessions/{session}/restore', { params, body: { id: hash } })
          const text = edit
            ? `Entry ${entry} is shown again at the end, without a cache miss.`
            : 'A tool call is waiting for its result. Try again after it.'
          made(text, edit)
        })
      },
      // A part is pinned by itself or through its entry: both pins are removed.
      unpin: async (entry, parts) => {
        await run(async () => {
          await setPin({ entry, on: false })
          for (const part of parts) {
            const { pinned } = await getJson('/sessions/{session}/parts/{entry}/{part}', {
              params: { session, entry, part },
            })
            if (pinned) await setPin({ entry, part, on: false })
          }
          show({ text: `Entry ${entry} is no longer pinned.` })
        })
      },
      pin: async (entry, part) => {
        await run(async () => {
          await setPin({ entry, part })
          show({ text: `Entry ${entry} is pinned: only you can edit it.` })
        })
      },
      fork: async at => {
        await run(async () => {
          const { id } = await sendJson('POST', '/sessions/{session}/fork', { params, body: { at } })
          show({ text: `Forked to ${id}.`, action: { label: 'Open', run: () => navigate(hrefOf('sessions', id)) } })
        })
      },
      compact: (from, to, text) =>
        run(async () => {
          const { edit } = await sendJson('POST', '/sessions/{session}/compact', { params, body: { from, to, text } })
          made(`Entries ${from}–${to} are compacted: ${fewer(edit.saved * scale)}.`, edit)
        }),
    }
  }, [session, reload, scale, show, attempt])
}

type Run = (work: () => Promise<void>) => Promise<boolean>

function switches(session: string, run: Run, show: ReturnType<typeof useToasts>['show']) {
  const undo = async (edit: string) => {
    await run(async () => {
      await sendJson('POST', '/sessions/{session}/edits/{edit}/undo', { params: { session, edit } })
      show({ text: `${edit} is undone.`, action: { label: 'Redo', run: () => void redo(edit) } })
    })
  }
  const redo = async (edit: string) => {
    await run(async () => {
      await sendJson('POST', '/sessions/{session}/edits/{edit}/redo', { params: { session, edit } })
      show({ text: `${edit} is in force again.`, action: { label: 'Undo', run: () => void undo(edit) } })
    })
  }
  return { undo, redo }
}

/** Actions and state for rows deep in the conversation. */
export type Steering = {
  actions: Actions
  /** Tokens of the provider per token that edits count. */
  scale: number
  /** Dollars that each edit saved so far. */
  worth: ReadonlyMap<string, number>
  /** Where "compact from here" was pressed. */
  compactFrom: number | undefined
  startCompact(entry: number | undefined): void
  openCompact(from: number, to: number): void
  openDistill(place: Place, text: string): void
}

export const SteeringContext = createContext<Steering | undefined>(undefined)

export function useSteering(): Steering {
  const steering = useContext(SteeringContext)
  if (!steering) throw new Error('Steering is used outside of a session page.')
  return steering
}
