/** Stores the content of a snapshot's file on a host, and says whose fault it is where that fails. */
import { Effect } from "effect"
import { InvalidRequest, ServiceUnavailable, StorageLimitReached, UnsupportedByRuntime } from "../../schemas/Errors.ts"
import type { Runtime, RuntimeRefused, RuntimeUnavailable, RuntimeUnsupported } from "../runtime/Runtime.ts"
import { type OpenedSnapshot, SnapshotFileFault, SnapshotTooLarge } from "./file/decodeSnapshot.ts"

export const notWhole = (how: string) =>
  new InvalidRequest({ details: { issues: [{ path: [], message: `The body is no whole snapshot file: ${how}.` }] } })

type NotStored = InvalidRequest | StorageLimitReached | ServiceUnavailable | UnsupportedByRuntime

/** Why the content is not stored. @param fault Of the file; null: it is the host's. */
const refusalOf = (
  snapshotId: string,
  error: RuntimeRefused | RuntimeUnavailable | RuntimeUnsupported,
  fault: unknown,
  limitBytes: number
): Effect.Effect<never, NotStored> => {
  if (fault instanceof SnapshotFileFault) return Effect.fail(notWhole(fault.message))
  if (fault instanceof SnapshotTooLarge) return Effect.fail(new StorageLimitReached({ details: { limitBytes } }))
  switch (error._tag) {
    case "RuntimeRefused":
      return Effect.fail(new ServiceUnavailable({ message: error.message }))
    case "RuntimeUnsupported":
      return Effect.fail(new UnsupportedByRuntime({ message: error.message }))
    case "RuntimeUnavailable":
      return Effect.andThen(
        Effect.logWarning(`The imported snapshot ${snapshotId} could not be stored`, error.message),
        Effect.fail(
          new ServiceUnavailable({ message: "The snapshot could not be stored now. Send the file again later." })
        )
      )
  }
}

/** Stores the content on a host. What the file itself is to blame for is the client's error. */
export const receiveImage = Effect.fnUntraced(function* (
  runtime: Runtime["Service"],
  snapshotId: string,
  { header, pieces }: OpenedSnapshot,
  limits: { readonly leftBytes: number; readonly limitBytes: number }
) {
  let fault: unknown = null
  async function* checked() {
    try {
      yield* pieces(limits.leftBytes)
    } catch (cause) {
      fault = cause
      throw cause
    }
  }
  const { sizeBytes, owner } = header
  return yield* runtime.snapshots
    .receive(snapshotId, { sizeBytes, owner, pieces: checked() }, header.runtime)
    .pipe(Effect.catch((error) => refusalOf(snapshotId, error, fault, limits.limitBytes)))
})
