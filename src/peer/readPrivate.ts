/** Reads a file that only Atoll's user, and a group that its owner chose, may read. */
import { open } from "node:fs/promises"
import { Effect } from "effect"
import { PeerUnusable } from "./PeerSockets.ts"

const mostBytes = 256 * 1024
const others = 0o007

const whyUnreadable: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EACCES: "Atoll's user may not read it",
  EISDIR: "it is a folder"
}

export const unusable = (message: string) => new PeerUnusable({ message })

const readBounded = async (path: string) => {
  const file = await open(path, "r")
  try {
    const { mode, size } = await file.stat()
    return { isOpenToOthers: (mode & others) !== 0, text: size > mostBytes ? null : await file.readFile("utf8") }
  } finally {
    await file.close()
  }
}

/** @param env The setting that names the file. */
export const readFileOf = Effect.fnUntraced(function* (env: string, path: string, isPrivate: boolean) {
  const { isOpenToOthers, text } = yield* Effect.tryPromise({
    try: () => readBounded(path),
    catch: (cause) => {
      const code = String((cause as NodeJS.ErrnoException).code)
      return unusable(`${env}, ${path}, cannot be read: ${whyUnreadable[code] ?? code}.`)
    }
  })
  if (isPrivate && isOpenToOthers) {
    return yield* unusable(`${env}, ${path}, is open to every user of this machine. Close it: chmod o-rwx ${path}`)
  }
  if (text === null) return yield* unusable(`${env}, ${path}, has more than ${mostBytes} bytes.`)
  return text
})
