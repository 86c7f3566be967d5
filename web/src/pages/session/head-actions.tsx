/** Actions on a whole session. */
import { useState } from 'react'
import { hrefOf } from '../../route.ts'
import { Button } from '../../ui/button.tsx'
import { DeleteDialog } from './delete-dialog.tsx'
import { RedactDialog } from './redact-dialog.tsx'
import { ShareDialog } from './share-dialog.tsx'

type Opened = 'delete' | 'redact' | 'share'

export function HeadActions({ session, onChanged }: { session: string; onChanged(): void }) {
  const [opened, setOpened] = useState<Opened>()
  const onClose = () => setOpened(undefined)
  return (
    <div className="page-actions">
      <a className="button button-plain" href={hrefOf('sessions', session, 'compare')}>
        Compare planners
      </a>
      <Button onClick={() => setOpened('share')}>Share</Button>
      <Button onClick={() => setOpened('redact')}>Secrets</Button>
      <Button onClick={() => setOpened('delete')}>Delete</Button>
      {opened === 'delete' && <DeleteDialog {...{ session, onClose }} />}
      {opened === 'share' && <ShareDialog {...{ session, onClose }} />}
      {opened === 'redact' && <RedactDialog {...{ session, onClose, onChanged }} />}
    </div>
  )
}
