/**
 * The reading of a Sandbox's log as server-sent events. An `id` is its position and a mark of the Sandbox: positions count the entries of all
 * Sandboxes, so another one's would skip what this one wrote before.
 */
import { hash } from "node:crypto"
import { Effect } from "effect"
import { CursorStale } from "../../schemas/Errors.ts"
import type { LogEvent, LogPosition, LogReading } from "../logs/LogReading.ts"
import type { PulledStream } from "./EventStreamAnswer.ts"

const stale = () =>
  new CursorStale({
    message: "This is the id of an event of another Sandbox's log. Open the stream without it."
  })

const sealLogPosition = (sandboxId: string, { at, seq }: LogPosition): string => {
  const mark = hash("sha256", `${sandboxId} ${at} ${seq}`).slice(0, 12)
  return `${at}-${seq}-${mark}`
}

/** @param id In the form that the description gives. */
export const openLogPosition = (
  sandboxId: string,
  id: string | null
): Effect.Effect<LogPosition | null, CursorStale> => {
  if (id === null) return Effect.succeed(null)
  const [at, seq, mark] = id.split("-") as [string, string, string?]
  const position = { at: Number(at), seq: Number(seq) }
  // Earlier versions gave none.
  const isOwn = mark === undefined || sealLogPosition(sandboxId, position) === id
  return isOwn ? Effect.succeed(position) : Effect.fail(stale())
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
