/**
 * One operation of the description over `fetch`, retried where that cannot apply anything twice.
 * Retried are reads, requests with an Idempotency-Key, those that the contract calls the same when repeated, and those
 * that certainly were not applied: refused by a rate limit, or by a service that was not reached or said that nothing
 * was changed.
 */
import { AtollError, ConnectionError, errorOf, isRecord, UnreadableAnswer } from "../errors.ts"
import { type Operations, operations } from "../generated/operations.ts"
import { HandshakeRefused, type MessageSocket, type SocketListener } from "../socket/MessageSocket.ts"
import { openSocket } from "../socket/openSocket.ts"
import { outcomeOf } from "./outcomeOf.ts"
import { sleep } from "./sleep.ts"

export type Answered<Id extends keyof Operations> = Operations[Id] extends { readonly answer: infer Answer }
  ? Answer
  : never

type Part<Id extends keyof Operations, Name extends string> = Operations[Id] extends {
  readonly [N in Name]: infer Value
}
  ? Value
  : Record<never, never>

type BodyOf<Id extends keyof Operations> = "body" extends keyof Operations[Id]
  ? Uint8Array extends Operations[Id]["body"]
    ? Operations[Id]["body"] | Blob | ReadableStream<Uint8Array> | (() => ReadableStream<Uint8Array>)
    : Operations[Id]["body"]
  : undefined

/** All parameters of an operation under the names of the description, in the path, the query and the headers. */
export type Parameters<Id extends keyof Operations> = Part<Id, "path"> & Part<Id, "query"> & Part<Id, "headers">

export interface Call<Id extends keyof Operations> {
  readonly parameters?: Parameters<Id>
  /** A stream is sent once; a function makes one for each attempt. */
  readonly body?: BodyOf<Id>
  /** Ends the wait for the answer; the request may still be applied. */
  readonly signal?: AbortSignal | undefined
  /** The longest time of one attempt until its answer has begun. By default the client's own. Null: no limit. */
  readonly attemptSeconds?: number | null | undefined
}

export interface TransportOptions {
  readonly url: URL
  readonly apiKey: string
  readonly fetch: typeof globalThis.fetch
  readonly attemptSeconds: number
  /** How long one call is retried. */
  readonly patienceSeconds: number
  /** The same as long as the service was never reached. */
  readonly unreachedSeconds: number
  readonly userAgent: string
}

/** A request that is no operation of the description. */
export interface Posted {
  readonly headers: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body: unknown
  /** It may be repeated if its outcome is unknown. */
  readonly isRepeatable: boolean
  readonly signal?: AbortSignal | undefined
  readonly attemptSeconds?: number | null | undefined
}

export interface WebSocketHandshake {
  /** Below the service's URL. */
  readonly path: string
  readonly query: Readonly<Record<string, string | number | undefined>>
  readonly protocol: string
  /** By default the API key. */
  readonly secret?: string | undefined
  /** Ends the handshake. */
  readonly signal?: AbortSignal | undefined
}

type Attempted<A> =
  | { readonly value: A; readonly fault: null }
  | { readonly value: null; readonly fault: AtollError | ConnectionError }

/** The same when repeated, by the contract. */
const repeatable: ReadonlySet<keyof Operations> = new Set([
  "deleteSandbox",
  "deleteSnapshot",
  "deleteImage",
  "stopSandbox",
  "waitOperation",
  "cancelOperation",
  "closePreview",
  "closePreviews",
  "lookUpPreview",
  "lookUpServiceAccess",
  "revokeServiceAccess"
])

/** Parameters of the query. */
const sentAsHeaders: ReadonlySet<string> = new Set(["Idempotency-Key", "Last-Event-Id", "Content-Encoding"])

const clockToleranceMs = 5_000
const firstPauseMs = 100
const pauseMaxMs = 5_000

export type Content = Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array> | (() => ReadableStream<Uint8Array>)

const isContent = (body: unknown): body is Content =>
  body instanceof Uint8Array || body instanceof Blob || body instanceof ReadableStream || typeof body === "function"

export class Transport {
  readonly #options: TransportOptions
  /** The service's clock minus the local one. */
  #aheadMs = 0
  /** A server was there, and may have received it. */
  #wasReached = false

  constructor(options: TransportOptions) {
    this.#options = options
  }

  get url(): URL {
    return this.#options.url
  }

  get apiKey(): string {
    return this.#options.apiKey
  }

  /**
   * The answer as the description has it; fails with AtollError, ConnectionError, or the reason of an aborted signal.
   */
  call<Id extends keyof Operations>(id: Id, call: Call<Id> = {}): Promise<Answered<Id>> {
    const { carries } = operations[id]
    return this.read(id, call, async (answer) => {
      if (carries === "json") return (await answer.json()) as Answered<Id>
      const bytes = new Uint8Array(await answer.arrayBuffer())
      return (carries === "nothing" ? undefined : bytes) as Answered<Id>
    })
  }

  /** An answer of status 2xx whose body is unread: its reader handles a connection that is lost meanwhile. */
  open<Id extends keyof Operations>(id: Id, call: Call<Id> = {}): Promise<Response> {
    return this.read(id, call, (answer) => Promise.resolve(answer))
  }

  /**
   * The result of `read` for an answer of status 2xx. It fails if the connection is lost, and the operation may be
   * retried then.
   */
  async read<Id extends keyof Operations, A>(
    id: Id,
    call: Call<Id>,
    read: (answer: Response) => Promise<A>
  ): Promise<A> {
    const { url, body, ...request } = this.#request(id, call)
    const isRepeatable = request.method === "GET" || request.headers.has("idempotency-key") || repeatable.has(id)
    const attempts = body instanceof ReadableStream ? "once" : isRepeatable ? "repeatable" : "unlessApplied"
    return this.#persist(attempts, call.signal, () =>
      this.#attempt(`${request.method} ${url.pathname}`, call, async (signal, begun) => {
        const sent = typeof body === "function" ? body() : body
        // The answer to a stream is awaited once all of it was sent.
        const how = sent instanceof ReadableStream ? { duplex: "half" as const } : {}
        const answer = await this.#options.fetch(url, { ...request, ...how, body: sent, signal, redirect: "error" })
        begun()
        this.#noteClock(answer)
        if (!answer.ok) throw await errorOf(answer)
        return read(answer)
      })
    )
  }

  /** The result of `read` for an answer of any status; it fails with the error of `errorOf`. */
  post<A>(path: string, posted: Posted, read: (answer: Response) => Promise<A>): Promise<A> {
    const { userAgent, fetch } = this.#options
    const headers = {
      ...posted.headers,
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      "user-agent": userAgent,
      authorization: `Bearer ${this.apiKey}`
    }
    const body = JSON.stringify(posted.body)
    return this.#persist(posted.isRepeatable ? "repeatable" : "unlessApplied", posted.signal, () =>
      this.#attempt(`POST ${path}`, posted, async (signal, begun) => {
        const answer = await fetch(this.#address(path), { method: "POST", headers, body, signal, redirect: "error" })
        begun()
        this.#noteClock(answer)
        return read(answer)
      })
    )
  }

  /**
   * A WebSocket, of which nothing is read before `resume`. Fails as `read` does. A handshake is repeated: the effects
   * of a lost one end with its connection.
   */
  async connect(handshake: WebSocketHandshake, listener: SocketListener): Promise<MessageSocket> {
    const { path, query, protocol, secret = this.apiKey, signal } = handshake
    const url = this.#address(path)
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value))
    const { userAgent, fetch } = this.#options
    return this.#persist("repeatable", signal, () =>
      this.#attempt(`WebSocket ${url.pathname}`, handshake, async (signal) => {
        const ask = () => fetch(url, { headers: { authorization: `Bearer ${secret}` }, signal, redirect: "error" })
        try {
          return await openSocket({ url, protocol, secret, userAgent, ask, signal }, listener)
        } catch (thrown) {
          if (!(thrown instanceof HandshakeRefused)) throw thrown
          this.#noteClock(thrown.answer)
          throw await errorOf(thrown.answer, url.href)
        }
      })
    )
  }

  /** The service's time of day, by its last answer, to the second. Milliseconds. */
  now(): number {
    return Date.now() + this.#aheadMs
  }

  #noteClock(answer: Response): void {
    const told = Date.parse(answer.headers.get("date") ?? "")
    // Known in whole seconds: a smaller difference is none.
    if (!Number.isNaN(told)) this.#aheadMs = Math.abs(told - Date.now()) < clockToleranceMs ? 0 : told - Date.now()
  }

  /** Until it succeeds, or fails permanently. */
  async #persist<A>(
    attempts: "once" | "unlessApplied" | "repeatable",
    signal: AbortSignal | undefined,
    attempt: () => Promise<Attempted<A>>
  ): Promise<A> {
    const begunAt = Date.now()
    const { patienceSeconds, unreachedSeconds } = this.#options
    for (let made = 0; ; made++) {
      const { value, fault } = await attempt()
      this.#wasReached ||= !(fault instanceof ConnectionError) || fault.outcome === "unknown"
      if (fault === null) return value
      const withinSeconds = this.#wasReached ? patienceSeconds : Math.min(unreachedSeconds, patienceSeconds)
      const mayRepeat = attempts === "repeatable" || (attempts === "unlessApplied" && fault.outcome === "notApplied")
      const again = mayRepeat && isPassing(fault)
      const told = fault instanceof AtollError ? fault.retryAfterSeconds : null
      const backOffMs = Math.min(pauseMaxMs, firstPauseMs * 2 ** made)
      // Spread, not all together.
      const pauseMs =
        told === null ? backOffMs * (0.5 + Math.random() / 2) : Math.max(told * 1000, 10) + Math.random() * 50
      if (!again || Date.now() + pauseMs > begunAt + withinSeconds * 1000) throw fault
      await sleep(pauseMs, signal)
    }
  }

  #address(path: string): URL {
    const url = new URL(this.#options.url)
    url.pathname = url.pathname.replace(/\/$/, "") + path
    return url
  }

  #request<Id extends keyof Operations>(id: Id, { parameters, body }: Call<Id>) {
    const operation = operations[id]
    const { method, path } = operation
    // Compression in a Sandbox takes more time than it saves: an archive would take ten times as long.
    const headers = new Headers({ accept: "*/*", "accept-encoding": "identity", "user-agent": this.#options.userAgent })
    if (this.#options.apiKey !== "") headers.set("authorization", `Bearer ${this.#options.apiKey}`)
    let pathname: string = path
    const query = new URLSearchParams()
    for (const [name, value] of Object.entries(parameters ?? {})) {
      if (value === undefined || value === null) continue
      if (pathname.includes(`{${name}}`)) pathname = pathname.replace(`{${name}}`, encodeURIComponent(String(value)))
      else if (sentAsHeaders.has(name)) headers.set(name, String(value))
      // Pairs, each of which is a separate parameter.
      else if (isRecord(value)) for (const [key, text] of Object.entries(value)) query.set(key, String(text))
      // Repeated, for a value may have commas.
      else for (const one of Array.isArray(value) ? value : [value]) query.append(name, String(one))
    }
    const url = this.#address(pathname)
    url.search = query.toString()
    if (body !== undefined) headers.set("content-type", "sends" in operation ? operation.sends : "application/json")
    return { method, url, headers, body: body === undefined ? null : isContent(body) ? body : JSON.stringify(body) }
  }

  /** `begun`: the answer has begun; from then on there is no time limit. */
  async #attempt<A>(
    what: string,
    { signal, attemptSeconds = this.#options.attemptSeconds }: Pick<Call<never>, "signal" | "attemptSeconds">,
    ask: (signal: AbortSignal, begun: () => void) => Promise<A>
  ): Promise<Attempted<A>> {
    signal?.throwIfAborted()
    const late = new AbortController()
    const within = attemptSeconds ?? Number.POSITIVE_INFINITY
    const timer = Number.isFinite(within)
      ? setTimeout(() => late.abort(new Error(`No answer within ${within} s.`)), within * 1000)
      : undefined
    const signals = signal === undefined ? late.signal : AbortSignal.any([signal, late.signal])
    try {
      return { value: await ask(signals, () => clearTimeout(timer)), fault: null }
    } catch (thrown) {
      if (signal?.aborted) throw signal.reason
      if (thrown instanceof AtollError) return { value: null, fault: thrown }
      if (thrown instanceof UnreadableAnswer) throw thrown
      const why = late.signal.aborted
        ? (late.signal.reason as Error).message
        : "The service was not reached, or cut the connection."
      return { value: null, fault: new ConnectionError(`${what}: ${why}`, outcomeOf(thrown), thrown) }
    } finally {
      clearTimeout(timer)
    }
  }
}

/**
 * Whether a retry may succeed soon. A Sandbox that does not run will not run by itself: that answer has no time to
 * wait.
 */
const isPassing = (fault: AtollError | ConnectionError): boolean =>
  fault instanceof ConnectionError ||
  fault.is("RATE_LIMITED") ||
  fault.is("SERVICE_UNAVAILABLE") ||
  (fault.status >= 500 && (fault.outcome === "unknown" || fault.retryAfterSeconds !== null))
