/** The dropped files, including those in dropped folders. */

const DEPTH = 12

export async function droppedFiles(transfer: DataTransfer): Promise<File[]> {
  // The entries must be read before the first await: the browser clears the list after the event.
  const entries = [...transfer.items].flatMap(item => item.webkitGetAsEntry?.() ?? [])
  if (!entries.some(({ isDirectory }) => isDirectory)) return [...transfer.files]
  return (await Promise.all(entries.map(entry => filesIn(entry, DEPTH)))).flat()
}

async function filesIn(entry: FileSystemEntry, depth: number): Promise<File[]> {
  if (isFile(entry)) return [await new Promise<File>((resolve, reject) => entry.file(resolve, reject))]
  if (!isFolder(entry) || depth === 0) return []
  const reader = entry.createReader()
  const files: File[] = []
  for (;;) {
    // It returns a hundred entries at a time, and an empty list at the end.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
    if (some.length === 0) return files
    for (const inner of some) files.push(...(await filesIn(inner, depth - 1)))
  }
}

function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile
}

function isFolder(entry: FileSystemEntry): entry is FileSystemDirectoryEntry {
  return entry.isDirectory
}
