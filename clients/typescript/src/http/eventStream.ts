/** Server-sent events (HTML Living Standard 9.2) from the bytes of an answer. */
import { UnreadableAnswer } from "../errors.ts"
import { readAhead } from "./readAhead.ts"

export interface ServerSentEvent {
  /** The last `id` that was sent, with this event or before it. */
  readonly id: string
  /** Empty: only an `id` came. */
  readonly event: string
  readonly data: string
}

/** One event is no longer. */
const eventMaxLength = 16 * 1024 * 1024

/** `heard` is called for all input, comments included: a stream that is silent for long is dead. */
export async function* eventStream(
  bytes: ReadableStream<Uint8Array>,
  heard: () => void = () => {}
): AsyncGenerator<ServerSentEvent, void, undefined> {
  const decoder = new TextDecoder()
  let rest = ""
  let id = ""
  let told = ""
  let event = ""
  let data: Array<string> = []
  let length = 0
  for await (const piece of readAhead(bytes)) {
    heard()
    rest += decoder.decode(piece, { stream: true })
    const lines = rest.split(/\r\n|\n|\r(?=.)/s)
    rest = lines.pop()!
    if (rest.length > eventMaxLength) throw new UnreadableAnswer("An event of a stream is longer than any.")
    for (const line of lines) {
      if (line === "") {
        if (data.length > 0) yield { id, event: event === "" ? "message" : event, data: data.join("\n") }
        else if (id !== told) yield { id, event: "", data: "" }
        told = id
        event = ""
        data = []
        length = 0
        continue
      }
      const colon = line.indexOf(":")
      if (colon === 0) continue
      const field = colon === -1 ? line : line.slice(0, colon)
      const text = colon === -1 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1)
      if (field === "id" && !text.includes("\0")) id = text
      else if (field === "event") event = text
      else if (field === "data") {
        length += text.length
        if (length > eventMaxLength) throw new UnreadableAnswer("An event of a stream is longer than any.")
        data.push(text)
      }
    }
  }
}
