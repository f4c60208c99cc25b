/** What is wrong with an archive, in the library's own errors. */
import { UnreadableAnswer } from "../errors.ts"
import { TarFault } from "../generated/tar/TarFault.ts"

/** The archive ends before its end: the connection was lost. */
export class ArchiveCut extends Error {
  override readonly name = "ArchiveCut"
}

export const broken = (what: string) => new UnreadableAnswer(`The archive cannot be read: ${what}.`)

/** Any error other than a TarFault is returned unchanged. */
export const withoutTarFault = (thrown: unknown): unknown => {
  if (!(thrown instanceof TarFault)) return thrown
  return thrown.reason === "truncated" ? new ArchiveCut() : broken(thrown.message)
}
