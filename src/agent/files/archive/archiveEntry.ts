/** The entries of an archive as the agent takes them: names are byte strings, as everywhere in the agent. */

import { TarFault } from "../../../platform/tar/TarFault.ts"
import { nameMaxBytes, type TarEntry } from "../../../platform/tar/tarEntries.ts"
import { ArchiveFault, malformed, truncated } from "./ArchiveFault.ts"

export interface ArchiveEntry extends Omit<TarEntry, "name" | "target"> {
  readonly name: string
  readonly target: string
}

const unsupported: Readonly<Record<string, string>> = {
  "3": "a device",
  "4": "a device",
  "6": "a fifo",
  S: "a sparse file; make the archive without --sparse",
  M: "a part of a file that began in another volume",
  D: "an incremental backup of a directory"
}

const supportedTypes: ReadonlySet<string> = new Set(["0", "\0", "7", "1", "2", "5"])

/** Throws an ArchiveFault for an entry that is neither file, directory nor link. */
export const refuseUnsupported = (type: string, isSparse: boolean): void => {
  if (!isSparse && supportedTypes.has(type)) return
  const reason = unsupported[isSparse ? "S" : type]
  throw new ArchiveFault(
    "unsupported_entry",
    reason === undefined ? "An entry is of a kind that is not known." : `An entry is ${reason}.`
  )
}

const byteString = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString("latin1")

/** Throws an ArchiveFault for a name that no file can have. */
export const archiveEntry = (told: TarEntry): ArchiveEntry => {
  const entry = { ...told, name: byteString(told.name), target: byteString(told.target) }
  if (entry.name.includes("\0") || entry.target.includes("\0")) {
    throw new ArchiveFault("unsafe_name", "A name contains NUL.")
  }
  return entry
}

const faultOf = ({ reason, message }: TarFault): ArchiveFault => {
  switch (reason) {
    case "malformed":
      return malformed(message)
    case "compressed":
      return malformed(`${message}. Send it with Content-Encoding: gzip`)
    case "truncated":
      return truncated()
    case "name_too_long":
      return new ArchiveFault("name_too_long", `A path is longer than ${nameMaxBytes} bytes.`)
  }
}

/** Converts a fault of the tar format into one of the API. Any other error is returned unchanged. */
export const withoutTarFault = (cause: unknown): unknown => (cause instanceof TarFault ? faultOf(cause) : cause)
