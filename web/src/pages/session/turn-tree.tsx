/** The session as a tree: turns, and for an open turn its calls with their tools, and its subagents. */
import { useState } from 'react'
import { getJson } from '../../api.ts'
import type { TimelineCall, Turn } from '../../api-types.ts'
import { useResource } from '../../resource.ts'
import { hrefOf } from '../../route.ts'
import { Button } from '../../ui/button.tsx'
import { count, dateTime, money, plural, tokens } from '../../ui/format.ts'
import { InlineText } from '../../ui/text.tsx'
import { kindStyle } from '../../ui/tone.ts'
import { groupOf } from './kinds.ts'
import './turn-tree.css'

export type TurnTreeProps = {
  session: string
  turns: readonly Turn[]
  calls: readonly TimelineCall[]
  /** The first entry on the screen. */
  seen: number | undefined
  onOpen(entry: number): void
}

const FIRST = 100

export function TurnTree({ session, turns: all, calls, seen, onOpen }: TurnTreeProps) {
  const turns = all.filter(({ turn, calls }) => turn > 0 || calls > 0)
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set())
  const [limit, setLimit] = useState(FIRST)
  const mostExpensive = Math.max(...turns.map(({ dollars }) => dollars), 1e-9)
  const current = turns.findLast(({ entry }) => seen !== undefined && entry <= seen)
  const from = Math.max(0, Math.min((current?.turn ?? 1) - FIRST / 2, turns.length - limit))
  const toggle = (entry: number) => {
    setOpen(old => {
      const next = new Set(old)
      if (!next.delete(entry)) next.add(entry)
      return next
    })
  }
  return (
    <section className="turns" aria-label="Turns">
      <h2>
        Turns <span className="dim">dollars; red: cache lost</span>
      </h2>
      {from > 0 && <p className="dim">{plural(from, 'earlier turn')} above</p>}
      <ol>
        {turns.slice(from, from + limit).map(turn => (
          <li key={turn.entry} data-turn={turn.turn} aria-current={turn === current ? 'true' : undefined}>
            <div className="turn">
              <button
                type="button"
                className="turn-fold"
                aria-expanded={open.has(turn.entry)}
                aria-label={`Calls of turn ${turn.turn}`}
                onClick={() => toggle(turn.entry)}
              >
                {open.has(turn.entry) ? '▾' : '▸'}
              </button>
              <button type="button" className="turn-title" onClick={() => onOpen(turn.entry)} title={tipOf(turn)}>
                <span className="turn-number">{turn.turn}</span>
                <span className="turn-text">
                  <InlineText text={turn.title || 'Before the first request'} />
                </span>
                <span className="turn-sum">{money(turn.dollars)}</span>
              </button>
            </div>
            <div className="turn-bar" aria-hidden="true">
              {partsOf(turn, calls).map(([name, dollars]) => (
                <i key={name} className={name} style={{ width: `${(dollars / mostExpensive) * 100}%` }} />
              ))}
            </div>
            {open.has(turn.entry) && <Steps session={session} turn={turn} onOpen={onOpen} />}
          </li>
        ))}
      </ol>
      {from + limit < turns.length && (
        <Button small onClick={() => setLimit(old => old + FIRST)}>
          {plural(turns.length - from - limit, 'later turn')}
        </Button>
      )}
    </section>
  )
}

/** The cost of a turn, split into calls with and without a cache miss. */
function partsOf({ dollars, firstCall, calls: own }: Turn, calls: readonly TimelineCall[]): [string, number][] {
  const lost = calls
    .slice(firstCall - 1, firstCall - 1 + own)
    .reduce((sum, { miss, paid }) => (miss ? sum + paid.dollars : sum), 0)
  const red = Math.min(dollars, lost)
  return [
    ['turn-kept', dollars - red],
    ['turn-lost', red],
  ]
}

type Told = Pick<Turn, 'title' | 'at' | 'calls' | 'tokens' | 'tools' | 'agents' | 'errors' | 'saved'>

function tipOf({ title, at, calls, tokens: size, tools, agents, errors, saved }: Told): string {
  return [
    title,
    dateTime(at),
    [
      plural(calls, 'call'),
      plural(tools, 'tool call'),
      agents > 0 && plural(agents, 'subagent'),
      errors > 0 && plural(errors, 'error'),
      `${tokens(size)} tokens`,
      saved >= 0.005 && `${money(saved)} saved`,
    ]
      .filter(Boolean)
      .join(', '),
  ].join('\n')
}

const MOST_STEPS = 80

function Steps({ session, turn, onOpen }: { session: string; turn: Turn; onOpen(entry: number): void }) {
  const found = useResource(`${session} ${turn.entry} ${turn.to}`, signal =>
    getJson('/sessions/{session}/turns', { params: { session }, query: { entry: turn.entry }, signal }),
  )
  const steps = found.value?.steps ?? []
  const agents = found.value?.agents ?? []
  const minutes = Math.round((turn.ended - turn.at) / 60_000)
  return (
    <div className="steps">
      <p className="dim">
        {plural(turn.calls, 'call')}, {tokens(turn.tokens)} tokens{minutes > 0 && `, ${count(minutes)} min`}
        {turn.errors > 0 && <span className="problem">, {plural(turn.errors, 'error')}</span>}
      </p>
      <ol>
        {steps.slice(0, MOST_STEPS).map(step => (
          <li key={step.call}>
            <button type="button" className="step" onClick={() => onOpen(step.entry)} title={dateTime(step.at)}>
              <span>call {count(step.call)}</span>
              {step.cacheLost && <span className="badge badge-bad">cache lost</span>}
              <span className="turn-sum">{money(step.dollars)}</span>
            </button>
            {step.tools.map(tool => (
              <button
                key={tool.part}
                type="button"
                className="step step-tool"
                title={tool.name}
                onClick={() => onOpen(tool.entry)}
              >
                <span className="kind" style={kindStyle(groupOf(tool.kind))}>
                  {tool.name}
                </span>
                <span className="step-about">
                  <InlineText text={tool.about} />
                </span>
                {tool.error && <span className="problem">failed</span>}
                <span className="turn-sum dim">{tokens(tool.tokens)}</span>
              </button>
            ))}
          </li>
        ))}
      </ol>
      {agents.length > 0 && (
        <ol aria-label="Subagents">
          {agents.map(agent => (
            <li key={agent.session}>
              <a
                className="step"
                href={hrefOf('sessions', agent.session)}
                title={tipOf({ ...agent, agents: 0, saved: 0 })}
              >
                <span className="kind" style={kindStyle('agent')}>
                  subagent
                </span>
                <span className="step-about">
                  <InlineText text={agent.title || agent.session} />
                </span>
                {agent.errors > 0 && <span className="problem">{plural(agent.errors, 'error')}</span>}
                <span className="turn-sum">{money(agent.dollars)}</span>
              </a>
            </li>
          ))}
        </ol>
      )}
      {steps.length > MOST_STEPS && <p className="dim">and {plural(steps.length - MOST_STEPS, 'call')} more</p>}
    </div>
  )
}
