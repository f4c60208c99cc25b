/**
 * The pieces of an answer's body, read ahead of their consumer.
 *
 * The connection is either read without a pause or left alone for a whole batch. A consumer that waits for a disk after each piece would pause the
 * fetch of Node 20 (undici 6) every 16 KiB, and at each pause that puts back, and copies again, all that has arrived meanwhile: 100 MB
 * took 40 s of processor time, in which nothing else in the process ran.
 */

/** The bytes that may wait here for their consumer, beside one more piece. */
const batchBytes = 1024 * 1024

export async function* readAhead(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body.getReader()
  const waiting: Array<Uint8Array> = []
  let waitingBytes = 0
  let isFilling = false
  let end: { readonly failure: unknown } | "whole" | null = null
  let changed = () => {}

  const fill = async () => {
    isFilling = true
    try {
      while (waitingBytes < batchBytes) {
        const { done, value } = await reader.read()
        if (done) {
          end = "whole"
          return
        }
        waiting.push(value)
        waitingBytes += value.length
        changed()
      }
    } catch (failure) {
      end = { failure }
    } finally {
      isFilling = false
      changed()
    }
  }

  try {
    for (;;) {
      const piece = waiting.shift()
      if (piece !== undefined) {
        waitingBytes -= piece.length
        yield piece
        continue
      }
      const ended = end as { readonly failure: unknown } | "whole" | null
      if (ended === "whole") return
      if (ended !== null) throw ended.failure
      const change = new Promise<void>((resolve) => {
        changed = resolve
      })
      if (!isFilling) void fill()
      await change
    }
  } finally {
    // The reader does not need the rest.
    await reader.cancel().catch(() => {})
  }
}
