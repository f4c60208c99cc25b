// Copied by `npm run clients` from src/platform/tar/TarFault.ts. Not to be edited.

/** The reasons why a tar archive cannot be read. */
export type TarFaultReason = "malformed" | "compressed" | "truncated" | "name_too_long"

/** The agent and the client library each tell it in their own terms. */
export class TarFault extends Error {
  override readonly name = "TarFault"
  readonly reason: TarFaultReason

  /** @param message Completes the sentence "The archive cannot be read: …". */
  constructor(reason: TarFaultReason, message: string) {
    super(message)
    this.reason = reason
  }
}

export const malformed = (what: string) => new TarFault("malformed", what)

export const truncated = () => new TarFault("truncated", "it ends before its end")
