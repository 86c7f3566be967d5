/** Runs a command of the CLI on the chat's home and session, and prints its report as the CLI would. */
import type { Command, Context, Report } from '../terminal/command.ts'
import { createPaint } from '../terminal/output.ts'
import type { Desk } from './desk.ts'

export async function runCommand(
  desk: Desk,
  command: Command,
  given: { args: readonly string[]; values?: Record<string, unknown> },
): Promise<void> {
  const { home, agent, io } = desk
  const context: Context = {
    args: [...given.args],
    values: (given.values ?? {}) as Context['values'],
    home: home.home,
    io,
    open: async () => home.pal,
    openIfThere: async () => home.pal,
    // For the agent's own session, use the agent's object: it must see the changes made to it.
    session: async id => (id === agent.session.id ? agent.session : home.pal.session(id, { mustExist: true })),
  }
  const report = await command.run(context)
  if (report) printReport(desk, report)
}

export function printReport({ screen }: Desk, { text, notes = [] }: Report): void {
  const lines = text(createPaint(screen.colour))
  if (typeof lines === 'string') screen.write(lines)
  else for (const line of lines) screen.write(`${line}\n`)
  for (const note of notes) screen.write(`${note}\n`)
}
