/**
 * One operation of the description over `fetch`, asked again where that cannot do anything twice.
 *
 * Asked again is what only reads, what carries an Idempotency-Key, what the contract says is the same when repeated, and what certainly was
 * not done: refused by a rate limit, or by a service that was not reached or said that nothing was changed.
 */
import { AtollError, ConnectionError, errorOf, type Outcome } from "../errors.ts"
import { type Operations, operations } from "../generated/operations.ts"
import { sleep } from "./sleep.ts"

export type Answered<Id extends keyof Operations> = Operations[Id] extends { readonly answer: infer Answer }
  ? Answer
  : never

type Part<Id extends keyof Operations, Name extends string> = Operations[Id] extends {
  readonly [N in Name]: infer Value
}
  ? Value
  : Record<never, never>

type BodyOf<Id extends keyof Operations> = "body" extends keyof Operations[Id] ? Operations[Id]["body"] : undefined

/** All parameters of an operation under the names of the description, whatever place they travel in. */
export type Parameters<Id extends keyof Operations> = Part<Id, "path"> & Part<Id, "query"> & Part<Id, "headers">

export interface Call<Id extends keyof Operations> {
  readonly parameters?: Parameters<Id>
  readonly body?: BodyOf<Id>
  /** Ends the waiting for the answer; what was asked for may go on. */
  readonly signal?: AbortSignal | undefined
  /** How long one attempt may take until its answer has begun. By default the client's own. Null: as long as it takes. */
  readonly attemptSeconds?: number | null | undefined
}

export interface TransportOptions {
  readonly url: URL
  readonly apiKey: string
  readonly fetch: typeof globalThis.fetch
  readonly attemptSeconds: number
  /** For how long one call is asked again. */
  readonly patienceSeconds: number
  readonly userAgent: string
}

/** Said by the contract to be the same when repeated. */
const repeatable: ReadonlySet<keyof Operations> = new Set([
  "deleteSandbox",
  "stopSandbox",
  "waitOperation",
  "cancelOperation",
  "closePreview",
  "closePreviews",
  "lookUpServiceAccess",
  "revokeServiceAccess"
])

const firstPauseMs = 100
const pauseMaxMs = 5_000

/** Never sent: no name, no connection. Everything else may have arrived. */
const outcomeOf = (thrown: unknown): Outcome => {
  for (let fault: unknown = thrown; fault instanceof Error; fault = fault.cause) {
    const { code } = fault as { readonly code?: unknown }
    if (code === "ECONNREFUSED" || code === "ENOTFOUND" || code === "EAI_AGAIN" || code === "UND_ERR_CONNECT_TIMEOUT") {
      return "notApplied"
    }
  }
  return "unknown"
}

const textOf = (value: unknown): string => (Array.isArray(value) ? value.join(",") : String(value))

export class Transport {
  readonly #options: TransportOptions

  constructor(options: TransportOptions) {
    this.#options = options
  }

  get url(): URL {
    return this.#options.url
  }

  get apiKey(): string {
    return this.#options.apiKey
  }

  /** The answer as the description has it; fails with AtollError, ConnectionError, or the reason of an aborted signal. */
  call<Id extends keyof Operations>(id: Id, call: Call<Id> = {}): Promise<Answered<Id>> {
    const { carries } = operations[id]
    return this.read(id, call, async (answer) => {
      if (carries === "json") return (await answer.json()) as Answered<Id>
      const bytes = new Uint8Array(await answer.arrayBuffer())
      return (carries === "nothing" ? undefined : bytes) as Answered<Id>
    })
  }

  /** An answer of status 2xx whose body has not been read: whoever reads it sees to a connection that is lost meanwhile. */
  open<Id extends keyof Operations>(id: Id, call: Call<Id> = {}): Promise<Response> {
    return this.read(id, call, (answer) => Promise.resolve(answer))
  }

  /** What `read` makes of an answer of status 2xx. It fails where the connection is lost, and the operation may be asked for again then. */
  async read<Id extends keyof Operations, A>(
    id: Id,
    call: Call<Id>,
    read: (answer: Response) => Promise<A>
  ): Promise<A> {
    const request = this.#request(id, call)
    const isRepeatable = request.method === "GET" || request.headers.has("idempotency-key") || repeatable.has(id)
    const giveUpAt = Date.now() + this.#options.patienceSeconds * 1000
    for (let attempt = 0; ; attempt++) {
      const { value, fault } = await this.#attempt(request, call, read)
      if (fault === null) return value
      const again = isPassing(fault) && (isRepeatable || fault.outcome === "notApplied")
      const told = fault instanceof AtollError ? fault.retryAfterSeconds : null
      const backOffMs = Math.min(pauseMaxMs, firstPauseMs * 2 ** attempt)
      // Not all at once.
      const pauseMs =
        told === null ? backOffMs * (0.5 + Math.random() / 2) : Math.max(told * 1000, 10) + Math.random() * 50
      if (!again || Date.now() + pauseMs > giveUpAt) throw fault
      await sleep(pauseMs, call.signal)
    }
  }

  #request<Id extends keyof Operations>(id: Id, { parameters, body }: Call<Id>) {
    const { method, path } = operations[id]
    const url = new URL(this.#options.url)
    const headers = new Headers({ accept: "*/*", "user-agent": this.#options.userAgent })
    if (this.#options.apiKey !== "") headers.set("authorization", `Bearer ${this.#options.apiKey}`)
    let pathname: string = path
    for (const [name, value] of Object.entries(parameters ?? {})) {
      if (value === undefined || value === null) continue
      if (pathname.includes(`{${name}}`)) pathname = pathname.replace(`{${name}}`, encodeURIComponent(textOf(value)))
      else if (name === "Idempotency-Key" || name === "Last-Event-Id") headers.set(name, textOf(value))
      else url.searchParams.set(name, textOf(value))
    }
    url.pathname = url.pathname.replace(/\/$/, "") + pathname
    const isBytes = body instanceof Uint8Array
    if (body !== undefined) headers.set("content-type", isBytes ? "application/octet-stream" : "application/json")
    const sent = body === undefined ? null : isBytes ? (body as Uint8Array<ArrayBuffer>) : JSON.stringify(body)
    return { method, url, headers, body: sent }
  }

  async #attempt<A>(
    { url, ...request }: { url: URL; method: string; headers: Headers; body: Uint8Array<ArrayBuffer> | string | null },
    { signal, attemptSeconds = this.#options.attemptSeconds }: Pick<Call<never>, "signal" | "attemptSeconds">,
    read: (answer: Response) => Promise<A>
  ): Promise<{ value: A; fault: null } | { value: null; fault: AtollError | ConnectionError }> {
    signal?.throwIfAborted()
    const late = new AbortController()
    const within = attemptSeconds ?? Number.POSITIVE_INFINITY
    const timer = Number.isFinite(within)
      ? setTimeout(() => late.abort(new Error(`No answer within ${within} s.`)), within * 1000)
      : undefined
    const signals = signal === undefined ? late.signal : AbortSignal.any([signal, late.signal])
    try {
      const answer = await this.#options.fetch(url, { ...request, signal: signals, redirect: "error" })
      clearTimeout(timer)
      return answer.ok ? { value: await read(answer), fault: null } : { value: null, fault: await errorOf(answer) }
    } catch (thrown) {
      if (signal?.aborted) throw signal.reason
      const why = late.signal.aborted
        ? (late.signal.reason as Error).message
        : "The service was not reached, or cut the connection."
      const message = `${request.method} ${url.pathname}: ${why}`
      return { value: null, fault: new ConnectionError(message, outcomeOf(thrown), thrown) }
    } finally {
      clearTimeout(timer)
    }
  }
}

/** Whether the same may go better soon. A Sandbox that does not run will not by itself: that is said without a time to wait. */
const isPassing = (fault: AtollError | ConnectionError): boolean =>
  fault instanceof ConnectionError ||
  fault.is("RATE_LIMITED") ||
  fault.is("SERVICE_UNAVAILABLE") ||
  (fault.status >= 500 && (fault.outcome === "unknown" || fault.retryAfterSeconds !== null))
