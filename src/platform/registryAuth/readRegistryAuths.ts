/** Reads the file of ATOLL_IMAGES_CREDENTIALS, which only Atoll's user may read. */
import { constants } from "node:fs"
import { type FileHandle, open } from "node:fs/promises"
import { type RegistryAuths, RegistryAuthsInvalid, registryAuthsIn } from "./registryAuths.ts"

const mostBytes = 256 * 1024
const otherUsers = 0o077

const whyUnreadable: Readonly<Record<string, string>> = {
  ENOENT: "does not exist. Correct the path, or unset it.",
  ENOTDIR: "does not exist. Correct the path, or unset it.",
  EACCES:
    "cannot be opened by Atoll's user. Give it to that user (chown), with the folders above it open to that user.",
  ELOOP: "is a loop of symbolic links. Correct the path."
}

const unreadable = (cause: unknown): RegistryAuthsInvalid => {
  const { code = "" } = cause as NodeJS.ErrnoException
  return new RegistryAuthsInvalid(whyUnreadable[code] ?? `cannot be read: ${code}.`)
}

const textOf = async (file: FileHandle, path: string, user: number): Promise<string> => {
  const stats = await file.stat()
  const { uid, mode, size } = stats
  if (!stats.isFile()) throw new RegistryAuthsInvalid("is not a regular file.")
  if (uid !== user) {
    throw new RegistryAuthsInvalid(`belongs to user id ${uid}, and Atoll runs as ${user}. Run: chown ${user} ${path}`)
  }
  if ((mode & otherUsers) !== 0) {
    throw new RegistryAuthsInvalid(`is open to other users of this machine. Run: chmod 600 ${path}`)
  }
  if (size > mostBytes) throw new RegistryAuthsInvalid(`has more than ${mostBytes} bytes.`)
  const bytes = Buffer.alloc(mostBytes + 1)
  let filled = 0
  for (;;) {
    const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, null)
    filled += bytesRead
    if (bytesRead === 0 || filled > mostBytes) break
  }
  // It may grow after its size was read.
  if (filled > mostBytes) throw new RegistryAuthsInvalid(`has more than ${mostBytes} bytes.`)
  return bytes.toString("utf8", 0, filled)
}

/** Rejects with a RegistryAuthsInvalid whose message is a sentence for the operator, without any secret. @param user The id of Atoll's user. */
export const readRegistryAuths = async (path: string, user = process.geteuid?.() ?? -1): Promise<RegistryAuths> => {
  try {
    // A named pipe would wait for a writer.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((cause) => {
      throw unreadable(cause)
    })
    try {
      return registryAuthsIn(await textOf(file, path, user))
    } finally {
      await file.close()
    }
  } catch (cause) {
    const { message } = cause instanceof RegistryAuthsInvalid ? cause : unreadable(cause)
    throw new RegistryAuthsInvalid(`ATOLL_IMAGES_CREDENTIALS, ${path}, ${message}`)
  }
}
