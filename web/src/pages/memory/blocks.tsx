/** The list of blocks, each with its text, its history and the changes of every version. */
import { useDeferredValue, useState } from 'react'
import { headOf } from '../../../../src/model/text.ts'
import { useResource } from '../../resource.ts'
import { replaceQuery, useRoute } from '../../route.ts'
import { Button } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Failure } from '../../ui/failure.tsx'
import { ago, plural } from '../../ui/format.ts'
import { useKeys } from '../../ui/keyboard.ts'
import { Split, SplitItem } from '../../ui/split.tsx'
import { InlineText } from '../../ui/text.tsx'
import { BlockView } from './block-view.tsx'
import { useReload } from './inbox.tsx'
import { readBlocks, searchBlocks } from './memory-api.ts'
import { NewBlockDialog } from './new-block.tsx'

export function Blocks({ user, changes }: { user: string; changes: number }) {
  const { query } = useRoute()
  const list = useResource(user, signal => readBlocks(user, signal))
  useReload(changes, list.reload)
  const [making, setMaking] = useState(false)
  const [words, setWords] = useState('')
  const snippets = useSnippets(user, words, changes)
  const all = list.value ?? []
  const blocks = snippets ? [...snippets.keys()].flatMap(label => all.find(block => block.label === label) ?? []) : all
  const named = query.get('id')
  const chosen = named ?? blocks[0]?.label
  const move = (step: number) => {
    const at = blocks.findIndex(({ label }) => label === chosen)
    const next = blocks[Math.min(blocks.length - 1, Math.max(0, at + step))]
    if (next) replaceQuery({ id: next.label })
  }
  useKeys({ j: () => move(1), k: () => move(-1), n: () => setMaking(true) })
  if (list.error !== undefined) return <Failure error={list.error} retry={list.reload} />
  return (
    <>
      {list.value && all.length === 0 && named === null && <NoBlocks onWrite={() => setMaking(true)} />}
      {(all.length > 0 || named !== null) && (
        <Split
          label="Blocks"
          head={
            <div className="split-head">
              <input
                type="search"
                aria-label="Search blocks"
                placeholder={`Search ${plural(all.length, 'block')}`}
                value={words}
                onChange={event => setWords(event.target.value)}
              />
              <Button small onClick={() => setMaking(true)}>
                New block
              </Button>
            </div>
          }
          items={blocks.map(({ label, title, updated_at: at, body }) => (
            <SplitItem
              key={label}
              chosen={label === chosen}
              onChoose={() => replaceQuery({ id: label })}
              title={<InlineText text={label} />}
              aside={<time>{ago(at, Date.now())}</time>}
              words={<InlineText text={snippets?.get(label) ?? (title || headOf(body, 200))} />}
            />
          ))}
          foot={
            <span>
              <kbd>j</kbd> <kbd>k</kbd> move · <kbd>n</kbd> new
            </span>
          }
        >
          {chosen !== undefined && (
            <BlockView
              key={chosen}
              user={user}
              label={chosen}
              block={all.find(({ label }) => label === chosen)}
              changes={changes}
              onChanged={list.reload}
            />
          )}
        </Split>
      )}
      {making && (
        <NewBlockDialog
          user={user}
          onClose={() => setMaking(false)}
          onMade={label => {
            setMaking(false)
            list.reload()
            replaceQuery({ id: label })
          }}
        />
      )}
    </>
  )
}

/** The matching passage of each block that is found, by label; undefined while nothing is searched. */
function useSnippets(user: string, words: string, changes: number): Map<string, string> | undefined {
  const asked = useDeferredValue(words.trim())
  const found = useResource(asked === '' ? undefined : `${user}\n${asked}\n${changes}`, signal =>
    searchBlocks(user, asked, signal),
  )
  return asked === '' ? undefined : new Map(found.value?.hits.map(hit => [hit.label, hit.snippet]))
}

function NoBlocks({ onWrite }: { onWrite(): void }) {
  return (
    <EmptyState title="There are no blocks yet.">
      <p>A block is a page of facts that agents should know about you: goals, preferences, how you like to work.</p>
      <Button kind="primary" onClick={onWrite}>
        Write the first
      </Button>
    </EmptyState>
  )
}
