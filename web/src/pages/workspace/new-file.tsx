/** A new knowledge file. */
import { type FormEvent, useId, useState } from 'react'
import { messageOf, sendJson } from '../../api.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { filePath } from './file-editor.tsx'

export function NewFileDialog({ onClose, onMade }: { onClose(): void; onMade(path: string): void }) {
  const [name, setName] = useState('')
  const [problem, setProblem] = useState<string>()
  const form = useId()
  const path = name.trim().endsWith('.md') ? name.trim() : `${name.trim()}.md`
  const make = async (event: FormEvent) => {
    event.preventDefault()
    try {
      const title = path.split('/').at(-1)!.replace(/\.md$/, '')
      await sendJson('PUT', filePath(path), { text: `# ${title}\n\n`, version: null })
      onMade(path)
    } catch (error) {
      setProblem(messageOf(error))
    }
  }
  return (
    <Dialog
      title="A new file"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form={form} kind="primary" disabled={name.trim() === ''}>
            Make it
          </Button>
        </>
      }
    >
      <form id={form} className="workspace-form" onSubmit={event => void make(event)}>
        <label>
          <span>Name, such as notes/style.md</span>
          <input autoFocus value={name} maxLength={190} onChange={event => setName(event.target.value)} />
        </label>
        <p className="dim">
          Agents read SOUL.md, TOOLS.md, AGENTS.md, MEMORY.md, the learnings and today’s log at the start; other files
          when they are told of them.
        </p>
        {problem && <p className="notice notice-bad">{problem}</p>}
      </form>
    </Dialog>
  )
}
