/**
 * A transition as the bytes of one server-sent event, made once for all its readers.
 *
 * @source HTML Living Standard section 9.2 (server-sent events)
 */
import type { PendingCommand } from "../../store/JournalRecord.ts"
import { stillPendingOf } from "../../store/StillPending.ts"
import type { TransitionPosition, TransitionRow } from "../../store/TransitionReads.ts"
import { type PositionOwner, sealPosition } from "./Position.ts"

export interface Frame {
  /** The position immediately after it. */
  readonly position: TransitionPosition
  readonly sandboxId: string
  readonly bytes: Buffer
}

/** Removes the key of each command, which is internal to the service. */
const commandsOf = (stored: string): string =>
  stored === "[]"
    ? stored
    : JSON.stringify(
        (JSON.parse(stored) as ReadonlyArray<PendingCommand>).map(({ type, params }) => ({ type, params }))
      )

/** Postgres prints JSON on one line. */
export const frameOf = (owner: PositionOwner, row: TransitionRow): Frame => {
  const { kind, actorId, sandboxId, revision, at, from, to, stillPending, cause, requestId } = row
  const head = JSON.stringify({ kind, actorId, sandboxId, revision, at: new Date(at).toISOString() }).slice(0, -1)
  const tail = JSON.stringify({ from, to, stillPending: stillPendingOf(stillPending), cause, requestId }).slice(1)
  const data = `${head},"event":${row.event},"commands":${commandsOf(row.commands)},${tail}`
  return {
    position: row.position,
    sandboxId,
    bytes: Buffer.from(`id: ${sealPosition(owner, row.position)}\nevent: transition\ndata: ${data}\n\n`)
  }
}

/** Carries only the reader's position: the client dispatches nothing, and a reconnection begins there. */
export const placeFrame = (owner: PositionOwner, position: TransitionPosition, comment: string): Buffer =>
  Buffer.from(`: ${comment}\nid: ${sealPosition(owner, position)}\n\n`)

export const heartbeat = Buffer.from(": heartbeat\n\n")
