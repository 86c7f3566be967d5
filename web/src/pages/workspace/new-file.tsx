/** A new knowledge file. */
import { useState } from 'react'
import { messageOf, sendJson } from '../../api.ts'
import { Dialog } from '../../ui/dialog.tsx'

export function NewFileDialog({ onClose, onMade }: { onClose(): void; onMade(path: string): void }) {
  const [name, setName] = useState('')
  const [problem, setProblem] = useState<string>()
  const path = name.trim().endsWith('.md') ? name.trim() : `${name.trim()}.md`
  const make = async () => {
    try {
      const title = path.split('/').at(-1)!.replace(/\.md$/, '')
      await sendJson('PUT', '/workspace/{file}', {
        params: { file: path },
        body: { text: `# ${title}\n\n`, version: null },
      })
      onMade(path)
    } catch (error) {
      setProblem(messageOf(error))
    }
  }
  return (
    <Dialog
      title="A new file"
      onClose={onClose}
      action={{ label: 'Create it', run: make, disabled: name.trim() === '' }}
    >
      <label>
        Name, such as notes/style.md
        <input autoFocus value={name} maxLength={190} onChange={event => setName(event.target.value)} />
      </label>
      <p className="dim">
        Agents read SOUL.md, TOOLS.md, AGENTS.md, MEMORY.md, the learnings and today’s log at the start; other files
        when they are told about them.
      </p>
      {problem && <p className="notice notice-bad">{problem}</p>}
    </Dialog>
  )
}
