/**
 * A Sandbox's log as server-sent events. An `id` is a position and a mark of the Sandbox: positions count the entries of all
 * Sandboxes, so a position of another Sandbox would skip earlier entries of this one.
 */
import { hash } from "node:crypto"
import { Effect } from "effect"
import { CursorStale } from "../../../schemas/Errors.ts"
import type { LogEvent, LogPosition, LogReading } from "../../observe/logs/LogReading.ts"
import type { PulledStream } from "./EventStreamAnswer.ts"

const stale = () =>
  new CursorStale({
    message: "This id is cut, or from another Sandbox's log. Open the stream without it."
  })

/** The id of an event at this position. */
export const sealLogPosition = (sandboxId: string, { at, seq }: LogPosition): string => {
  const mark = hash("sha256", `${sandboxId} ${at} ${seq}`).slice(0, 12)
  return `${at}-${seq}-${mark}`
}

/** @param id In the form of `sealLogPosition`. */
export const openLogPosition = (
  sandboxId: string,
  id: string | null
): Effect.Effect<LogPosition | null, CursorStale> => {
  if (id === null) return Effect.succeed(null)
  const [at, seq] = id.split("-") as [string, string]
  const position = { at: Number(at), seq: Number(seq) }
  return sealLogPosition(sandboxId, position) === id ? Effect.succeed(position) : Effect.fail(stale())
}

const frame = (sandboxId: string, event: LogEvent): Buffer => {
  const id = sealLogPosition(sandboxId, event.position)
  if (event.type === "quiet") return Buffer.from(`: heartbeat\nid: ${id}\n\n`)
  const { entries, truncated } = event
  return Buffer.from(`id: ${id}\nevent: log\ndata: ${JSON.stringify({ entries, truncated })}\n\n`)
}

export const logEvents = (sandboxId: string, reading: LogReading): PulledStream => ({
  next: (then) => reading.next((event) => then(event === null ? null : frame(sandboxId, event))),
  close: reading.close
})
