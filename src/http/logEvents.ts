/** The reading of a Sandbox's log as server-sent events. An `id` is its position. */
import type { LogEvent, LogPosition, LogReading } from "../logs/LogReading.ts"
import type { PulledStream } from "./EventStreamAnswer.ts"

export const openLogPosition = (id: string | null): LogPosition | null => {
  const [at, seq] = id?.split("-").map(Number) ?? []
  return at === undefined || seq === undefined ? null : { at, seq }
}

const frame = (event: LogEvent): Buffer => {
  const id = `${event.position.at}-${event.position.seq}`
  if (event.type === "quiet") return Buffer.from(`: heartbeat\nid: ${id}\n\n`)
  const { entries, truncated } = event
  return Buffer.from(`id: ${id}\nevent: log\ndata: ${JSON.stringify({ entries, truncated })}\n\n`)
}

export const logEvents = (reading: LogReading): PulledStream => ({
  next: (then) => reading.next((event) => then(event === null ? null : frame(event))),
  close: reading.close
})
