/**
 * The start of a connection over `atoll-agent/1`: the service names a running generation of a Sandbox, and the host accepts or answers why not.
 * Afterwards the connection carries only the agent's bytes.
 *
 *     two bytes: the length of the JSON; JSON: {"hostId", "sandboxId", "generation"}
 *     one byte: 0 means accepted; otherwise the length of a sentence that follows
 */
import type { Duplex } from "node:stream"
import { Option, Schema } from "effect"
import { shownProse } from "../agentClient/heldToShape.ts"

const NAME_MAX_BYTES = 512
const LENGTH_BYTES = 2
const SENTENCE_MAX_BYTES = 255

const Named = Schema.fromJsonString(
  Schema.Struct({
    hostId: Schema.String,
    sandboxId: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(64)),
    generation: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
  })
)
export type AgentName = typeof Named.Type

const decode = Schema.decodeUnknownOption(Named)

export const nameFrame = (name: AgentName): Buffer => {
  const json = Buffer.from(JSON.stringify(name))
  const frame = Buffer.allocUnsafe(LENGTH_BYTES + json.length)
  frame.writeUInt16BE(json.length)
  json.copy(frame, LENGTH_BYTES)
  return frame
}

export const taken = Buffer.of(0)

/** Truncates the sentence to 255 bytes. */
export const refusalFrame = (sentence: string): Buffer => {
  const text = Buffer.from(sentence === "" ? "It is refused." : sentence).subarray(0, SENTENCE_MAX_BYTES)
  return Buffer.concat([Buffer.of(text.length), text])
}

/** Null when the connection broke, the name was not complete in time, or is invalid. Later bytes stay in the connection. */
export const readName = async (
  from: Duplex,
  times: { readonly silentMs: number; readonly wholeMs: number }
): Promise<AgentName | null> => {
  const length = await readExactly(from, LENGTH_BYTES, times.silentMs)
  const bytes = length?.readUInt16BE() ?? 0
  if (bytes === 0 || bytes > NAME_MAX_BYTES) return null
  const json = await readExactly(from, bytes, times.wholeMs)
  return json === null ? null : Option.getOrNull(decode(json.toString("utf8")))
}

/** Undefined when the connection broke or no answer came in time. Null when accepted. Otherwise the reason for the refusal. */
export const readAnswer = async (from: Duplex, withinMs: number): Promise<string | null | undefined> => {
  const length = await readExactly(from, 1, withinMs)
  if (length === null) return undefined
  if (length[0] === 0) return null
  const sentence = await readExactly(from, length[0]!, withinMs)
  return sentence === null ? undefined : shownProse(sentence.toString("utf8"), SENTENCE_MAX_BYTES)
}

/** Reads exactly `bytes` bytes; null when they do not arrive. */
const readExactly = (from: Duplex, bytes: number, withinMs: number): Promise<Buffer | null> =>
  new Promise((resolve) => {
    const give = (read: Buffer | null) => {
      clearTimeout(timer)
      from.off("readable", look).off("end", broken).off("close", broken)
      resolve(read)
    }
    const look = () => {
      const read: Buffer | null = from.read(bytes)
      if (read !== null) give(read.length === bytes ? read : null)
    }
    const broken = () => give(null)
    const timer = setTimeout(broken, withinMs)
    from.on("readable", look).on("end", broken).on("close", broken)
    if (from.destroyed) broken()
    else look()
  })
