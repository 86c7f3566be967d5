/** The events of an agent's turn from its stream, until it ends. */
import type { AgentEvent } from '../src/agent/events.ts'

export async function follow(
  response: Response,
  onEvent: (event: AgentEvent) => unknown = () => {},
): Promise<AgentEvent[]> {
  const events: AgentEvent[] = []
  let rest = ''
  for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + piece).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks.filter(text => text.startsWith('data: '))) {
      const event: AgentEvent = JSON.parse(block.slice(6))
      events.push(event)
      await onEvent(event)
    }
  }
  return events
}
