/** A stream of events that reconnects at its position whenever its connection is lost. */
import { AtollError, ConnectionError, UnreadableAnswer } from "../errors.ts"
import { eventStream, type ServerSentEvent } from "./eventStream.ts"
import { sleep } from "./sleep.ts"

/** A heartbeat comes every 15 s: after three missed ones the connection counts as dead. */
const silentMaxMs = 45_000
const pauseMs = 250
const pauseMaxMs = 5_000

/** `open` requests from the position that its caller keeps; its failure, except a lost connection, ends the stream. */
export async function* resumed(
  open: (signal: AbortSignal) => Promise<Response>,
  signal: AbortSignal | undefined
): AsyncGenerator<ServerSentEvent, void, undefined> {
  for (let inVain = 0; ; ) {
    signal?.throwIfAborted()
    const connection = new AbortController()
    const abort = () => connection.abort(signal!.reason)
    signal?.addEventListener("abort", abort, { once: true })
    let timer: ReturnType<typeof setTimeout> | undefined
    const heard = () => {
      clearTimeout(timer)
      timer = setTimeout(() => connection.abort(new Error("Nothing was heard for long.")), silentMaxMs)
    }
    try {
      const answer = await open(connection.signal)
      heard()
      for await (const event of eventStream(answer.body!, heard)) {
        inVain = 0
        yield event
      }
    } catch (thrown) {
      if (signal?.aborted) throw signal.reason
      if (thrown instanceof AtollError || thrown instanceof UnreadableAnswer) throw thrown
      if (thrown instanceof ConnectionError && inVain > 0) throw thrown
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener("abort", abort)
      connection.abort()
    }
    await sleep(Math.min(pauseMaxMs, pauseMs * 2 ** inVain++), signal)
  }
}
