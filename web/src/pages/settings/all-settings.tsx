/** All settings with their sources, in groups; those that can be changed here have a field. */

import { type FormEvent, type ReactNode, useState } from 'react'
import type { Setting, Settings } from '../../api-types.ts'
import { Button } from '../../ui/button.tsx'
import { InlineText } from '../../ui/text.tsx'
import { asText, type Change, fromText } from './settings-api.ts'
import { SourceChip } from './source-chip.tsx'

/** These have their own section above. */
const ABOVE = ['policy', 'keep', 'byAgent', 'byProject']
const STORAGE = ['home', 'memory', 'agent.workspace', 'agent.user']

const ABOUT: Record<string, string> = {
  home: 'The ledger, and the files that edits point to. Nothing is sent anywhere but to your provider.',
  memory: 'Memory blocks and proposals.',
  'agent.workspace': 'The knowledge files that every session starts with.',
  'agent.user': 'The user whose memory the agent uses.',
  'upstreams.anthropic': 'The address to which the proxy sends requests for Anthropic.',
  'upstreams.openai': 'The address to which the proxy sends requests for OpenAI and compatible providers.',
  'upstreams.gemini': 'The address to which the proxy sends requests for Gemini.',
  protect: 'Tools whose results thrifty and agent never edit.',
  'anchor.every': 'The number of tool calls after which agent and stale-output repeat the goal.',
  'anchor.goalChars': 'The number of characters of the goal that they repeat.',
  'marks.budget': 'agent summarises old steps above this share of the window.',
  'marks.keep': 'The number of newest entries that such a summary leaves alone.',
  'marks.warnFrom': 'The agent is warned above this share of the budget.',
  'marks.limit': 'A result with more characters is moved to a file.',
  'marks.preview': 'The number of characters that stay in view.',
  model: 'The model of sessions that name none.',
  cacheTtl: 'The cache lifetime requested from the provider.',
  overhead: 'Tokens of system prompt and tools.',
}

export function AllSettings({ settings: { settings, file }, change }: { settings: Settings; change: Change }) {
  const isIn = (names: readonly string[]) => (setting: Setting) =>
    names.includes(setting.key) || names.includes(setting.path[0]!)
  const isAbove = isIn(ABOVE)
  const isStorage = isIn(STORAGE)
  const isUpstream = isIn(['upstreams'])
  const rest = settings.filter(setting => !isAbove(setting) && !isStorage(setting) && !isUpstream(setting))
  return (
    <>
      <Group id="upstreams" title="Providers" rows={settings.filter(isUpstream)} change={change}>
        The addresses to which the proxy sends requests. Set by <code>--anthropic-upstream</code> and the like, or by
        the environment.
      </Group>
      <Group id="storage" title="Memory and workspace" rows={settings.filter(isStorage)} change={change}>
        Where memory and workspace are kept.
      </Group>
      <Group id="tuning" title="Everything else" rows={rest} change={change}>
        {file ? (
          <>
            Changes are written to <code>{file}</code>. Other settings can be changed with{' '}
            <code>palimpsest config</code>.
          </>
        ) : (
          'This home is in memory, so settings cannot be saved.'
        )}
      </Group>
    </>
  )
}

type GroupProps = {
  id: string
  title: string
  rows: readonly Setting[]
  change: Change
  children: ReactNode
}

function Group({ id, title, rows, change, children }: GroupProps) {
  return (
    <section id={id} aria-labelledby={`${id}-title`}>
      <header className="settings-head">
        <h2 id={`${id}-title`}>{title}</h2>
        <p>{children}</p>
      </header>
      <ul className="card setting-list">
        {rows.map(setting => (
          <Row key={setting.key} setting={setting} change={change} />
        ))}
      </ul>
    </section>
  )
}

function Row({ setting, change }: { setting: Setting; change: Change }) {
  const { key, value, settable, source, path } = setting
  const [text, setText] = useState<string>()
  const save = async (event: FormEvent) => {
    event.preventDefault()
    await change(path, fromText(text ?? ''))
    setText(undefined)
  }
  return (
    <li className="setting">
      <div>
        <code>
          <InlineText text={key} />
        </code>
        {ABOUT[key] && <p className="dim">{ABOUT[key]}</p>}
      </div>
      {text === undefined ? (
        <span className="setting-value">
          <InlineText text={asText(value)} />
        </span>
      ) : (
        <form className="setting-form" onSubmit={event => void save(event)}>
          {/* biome-ignore lint/a11y/noAutofocus: the button that was clicked becomes this field */}
          <input aria-label={key} autoFocus value={text} onChange={event => setText(event.target.value)} />
          <Button small type="submit" kind="primary">
            Set
          </Button>
          <Button small kind="quiet" onClick={() => setText(undefined)}>
            Cancel
          </Button>
        </form>
      )}
      <span className="setting-end">
        <SourceChip setting={setting} />
        {settable && text === undefined && (
          <Button small kind="quiet" label={`Change ${key}`} onClick={() => setText(asText(value))}>
            Change
          </Button>
        )}
        {settable && source === 'file' && text === undefined && (
          <Button small kind="quiet" label={`Reset ${key}`} onClick={() => void change(path, null)}>
            Reset
          </Button>
        )}
      </span>
    </li>
  )
}
