/** Streams of server-sent events, read for a while. */

export interface ToldEvent {
  readonly id: string | null
  /** Empty: a heartbeat, or the first position. */
  readonly event: string
  readonly data: string
}

const eventOf = (lines: string): ToldEvent => {
  const fieldOf = (name: string) =>
    lines
      .split("\n")
      .find((line) => line.startsWith(`${name}: `))
      ?.slice(name.length + 2)
  return { id: fieldOf("id") ?? null, event: fieldOf("event") ?? "", data: fieldOf("data") ?? "" }
}

/**
 * Every event as it comes, until the body ends, breaks or `signal` ends it: what came before is what was told.
 *
 * @returns Whether the service ended it.
 */
export const eachEvent = async (
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  note: (event: ToldEvent) => void
): Promise<boolean> => {
  const decoder = new TextDecoder()
  let text = ""
  try {
    for await (const piece of body) {
      text += decoder.decode(piece, { stream: true })
      for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
        note(eventOf(text.slice(0, end)))
        text = text.slice(end + 2)
      }
    }
    return !signal.aborted
  } catch {
    return false
  }
}
