/** An operation's output as server-sent events. An `id` has both offsets. */
import type { OutputEvent, OutputReading } from "../../operation/OutputReading.ts"
import { aroundBase64 } from "./aroundBase64.ts"
import type { PulledStream } from "./EventStreamAnswer.ts"

const frame = (event: OutputEvent): Buffer => {
  if (event.type === "quiet") return Buffer.from(": heartbeat\n\n")
  const id = `${event.at.stdout}-${event.at.stderr}`
  if (event.type === "operation") {
    return Buffer.from(`id: ${id}\nevent: operation\ndata: ${JSON.stringify({ operation: event.operation })}\n\n`)
  }
  const { stream, offset, nextOffset, bytes, truncated } = event
  const rest = JSON.stringify({ stream, offset, nextOffset, truncated }).slice(0, -1)
  return aroundBase64(`id: ${id}\nevent: output\ndata: ${rest},"data":"`, bytes, '"}\n\n')
}

export const outputEvents = (reading: OutputReading): PulledStream => {
  let isBegun = false
  return {
    next: (then) => {
      if (isBegun) return reading.next((event) => then(event === null ? null : frame(event)))
      isBegun = true
      // Node sends the response's head with its first byte.
      then(Buffer.from(": from here on\n\n"))
    },
    close: reading.close
  }
}
