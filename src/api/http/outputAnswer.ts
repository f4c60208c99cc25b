/** Follows the output of an operation as server-sent events. */
import { Effect } from "effect"
import type { OutputReading } from "../../operation/OutputReading.ts"
import { eventStreamAnswer } from "./EventStreamAnswer.ts"
import type { OpenStreams } from "./OpenStreams.ts"
import { outputEvents } from "./outputEvents.ts"

interface Follower {
  readonly accountId: string
  readonly apiKeyId: string | null
  readonly sessionId: string | null
}

/** Last-Event-ID counts instead of the offsets. */
export const outputOffsets = (
  query: { readonly stdoutOffset: number; readonly stderrOffset: number },
  headers: { readonly "last-event-id"?: string | undefined }
) => {
  const [stdout, stderr] = headers["last-event-id"]?.split("-").map(Number) ?? [query.stdoutOffset, query.stderrOffset]
  return { stdout: stdout!, stderr: stderr! }
}

export const outputAnswer = Effect.fnUntraced(function* (
  streams: OpenStreams["Service"],
  { accountId, apiKeyId, sessionId }: Follower,
  reading: OutputReading
) {
  const stream = outputEvents(reading)
  const credentialId = apiKeyId ?? sessionId ?? ""
  const leave = yield* streams.open({ accountId, credentialId, end: () => stream.close() })
  return eventStreamAnswer(stream, leave)
})
