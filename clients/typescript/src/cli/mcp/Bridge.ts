/**
 * Passes messages of the Model Context Protocol on to a service, and its answers back. It knows no tool: the service's
 * list of tools says which calls may be repeated after a lost connection, and which take an idempotencyKey.
 */
import { AtollError, ConnectionError, errorOf, isRecord } from "../../errors.ts"
import { eventStream } from "../../http/eventStream.ts"
import { randomKey } from "../../http/randomKey.ts"
import type { Transport } from "../../http/Transport.ts"
import { unlessAborted } from "../../http/unlessAborted.ts"
import { sentenceOf } from "../failure.ts"
import { ReaderGone } from "../standardStreams.ts"
import { errorCodes, errorMessage, type Id, idOf, isRequest, type Message, paramsOf } from "./message.ts"
import { protocolHeaders } from "./protocolHeaders.ts"

const path = "/mcp"
/** Longer than any wait of the service. */
const attemptSeconds = 120

interface ToolFacts {
  /** Called again, it does nothing more. */
  readonly isRepeatable: boolean
  readonly takesKey: boolean
}

const factsOf = (tool: Message): ToolFacts => {
  const { annotations, inputSchema } = tool
  const hints = isRecord(annotations) ? annotations : {}
  const properties = isRecord(inputSchema) ? inputSchema["properties"] : undefined
  return {
    isRepeatable: hints["readOnlyHint"] === true || hints["idempotentHint"] === true,
    takesKey: isRecord(properties) && "idempotencyKey" in properties
  }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const isMessage = (value: unknown): value is Message => isRecord(value) && value["jsonrpc"] === "2.0"

const withKey = (request: Message): Message => {
  const params = paramsOf(request)
  const given = isRecord(params["arguments"]) ? params["arguments"] : {}
  return { ...request, params: { ...params, arguments: { ...given, idempotencyKey: randomKey() } } }
}

const hasKey = (request: Message): boolean => {
  const given = paramsOf(request)["arguments"]
  return isRecord(given) && typeof given["idempotencyKey"] === "string"
}

export class Bridge {
  readonly #api: Transport
  readonly #write: (message: Message) => Promise<void>
  /** The requests without an answer yet. */
  readonly #waiting = new Map<Id, AbortController>()
  #tools: Promise<ReadonlyMap<string, ToolFacts>> | null = null
  #agreedVersion: string | null = null

  constructor(api: Transport, write: (message: Message) => Promise<void>) {
    this.#api = api
    this.#write = write
  }

  /**
   * Handles one line of the client. Resolves once all of its answers are written; fails only if the reader of the
   * answers has gone.
   */
  async take(line: string | null): Promise<void> {
    if (line === null) {
      return this.#write(errorMessage(null, errorCodes.invalidRequest, "The message is larger than any may be."))
    }
    const message = parsed(line)
    if (message === null) {
      return this.#write(errorMessage(null, errorCodes.parse, "Expected one message in JSON on each line."))
    }
    if (!isMessage(message)) {
      const what = Array.isArray(message) ? "Send each message of a batch by itself." : 'Expected a "jsonrpc": "2.0".'
      return this.#write(errorMessage(null, errorCodes.invalidRequest, what))
    }
    if (isRequest(message)) return this.#answer(message)
    if (message["method"] === "notifications/cancelled") return this.#giveUp(message)
    // The service keeps no state of a client, so it needs no notification.
  }

  /** The call goes on; only its answer is dropped. */
  async #giveUp(message: Message): Promise<void> {
    const id = idOf({ id: paramsOf(message)["requestId"] })
    if (id !== null) this.#waiting.get(id)?.abort()
  }

  async #answer(request: Message & { readonly id: Id; readonly method: string }): Promise<void> {
    const { id, method } = request
    const waiting = new AbortController()
    this.#waiting.set(id, waiting)
    try {
      for (const answer of await this.#asked(request, waiting.signal)) {
        if (method === "initialize") this.#noteVersion(answer)
        // A message that could not be read far enough to find its id.
        await this.#write(idOf(answer) === null && "error" in answer ? { ...answer, id } : answer)
      }
    } catch (thrown) {
      if (waiting.signal.aborted) return
      if (thrown instanceof ReaderGone) throw thrown
      await this.#write(this.#told(id, thrown))
    } finally {
      if (this.#waiting.get(id) === waiting) this.#waiting.delete(id)
    }
  }

  #told(id: Id, fault: unknown): Message {
    const outcome = fault instanceof AtollError || fault instanceof ConnectionError ? fault.outcome : "unknown"
    const said =
      fault instanceof AtollError ? { code: fault.code, requestId: fault.requestId, details: fault.details } : {}
    return errorMessage(id, errorCodes.server, sentenceOf(fault, this.#api.url.origin), { outcome, ...said })
  }

  async #asked(request: Message & { readonly method: string }, signal: AbortSignal): Promise<ReadonlyArray<Message>> {
    if (request.method !== "tools/call") return this.#post(request, true, signal)
    const facts = (await unlessAborted(this.#facts(), signal)).get(String(paramsOf(request)["name"]))
    const keyed = facts?.takesKey === true && !hasKey(request) ? withKey(request) : request
    return this.#post(keyed, facts?.isRepeatable === true || (facts?.takesKey === true && hasKey(keyed)), signal)
  }

  /** Requested once; again if that failed. */
  async #facts(): Promise<ReadonlyMap<string, ToolFacts>> {
    this.#tools ??= this.#post({ jsonrpc: "2.0", id: 0, method: "tools/list" }, true).then(([answer]) => {
      const result = answer?.["result"]
      const tools = isRecord(result) && Array.isArray(result["tools"]) ? result["tools"].filter(isRecord) : []
      return new Map(tools.map((tool) => [String(tool["name"]), factsOf(tool)]))
    })
    try {
      return await this.#tools
    } catch (thrown) {
      this.#tools = null
      throw thrown
    }
  }

  #post(request: Message, isRepeatable: boolean, signal?: AbortSignal): Promise<ReadonlyArray<Message>> {
    return this.#api.post(
      path,
      { headers: protocolHeaders(request, this.#agreedVersion), body: request, isRepeatable, signal, attemptSeconds },
      async (answer) => {
        if (answer.headers.get("content-type")?.startsWith("text/event-stream") === true) {
          const messages: Array<Message> = []
          for await (const { data } of eventStream(answer.body!)) {
            const message = parsed(data)
            if (isMessage(message)) messages.push(message)
          }
          if (messages.some((message) => "result" in message || "error" in message)) return messages
          throw new ConnectionError("The answer ended before its end.", "unknown", null)
        }
        const text = await answer.text()
        const message = parsed(text)
        if (isMessage(message)) return [message]
        throw await errorOf(new Response(text === "" ? null : text, answer))
      }
    )
  }

  #noteVersion({ result }: Message): void {
    if (isRecord(result) && typeof result["protocolVersion"] === "string") {
      this.#agreedVersion = result["protocolVersion"]
    }
  }
}
