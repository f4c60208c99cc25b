/** The way to one Atoll service with one API key. */
import { type FollowEventsOptions, followEvents, type TransitionEvent } from "./events.ts"
import type { Me } from "./generated/schemas.ts"
import { descriptionVersion } from "./generated/schemas.ts"
import { Transport } from "./http/Transport.ts"
import { Sandboxes } from "./Sandboxes.ts"
import { Usage } from "./Usage.ts"
import { libraryVersion } from "./version.ts"
import type { Waiting } from "./Waiting.ts"
import { Workspaces } from "./Workspaces.ts"

export interface AtollOptions {
  /** By default the environment's ATOLL_API_KEY. */
  readonly apiKey?: string | undefined
  /** Without `/api/v2`. By default the environment's ATOLL_URL, else http://127.0.0.1:8080. */
  readonly url?: string | URL | undefined
  readonly fetch?: typeof globalThis.fetch | undefined
  /** How long one attempt of a request may take until its answer has begun. By default 30. Not a command's time-out. */
  readonly attemptSeconds?: number | undefined
  /** For how long a request is asked again while the service is away or a rate limit holds. By default 60. 0: never. */
  readonly patienceSeconds?: number | undefined
  /** The same while the service was never reached, which may be another address than was meant. By default `patienceSeconds`. */
  readonly unreachedSeconds?: number | undefined
}

const environment = (name: string): string | undefined => {
  const { process } = globalThis as {
    readonly process?: { readonly env?: Readonly<Record<string, string | undefined>> }
  }
  const value = process?.env?.[name]
  return value === "" ? undefined : value
}

const keyForm = /^[\x21-\x7e]+$/

export class Atoll {
  readonly sandboxes: Sandboxes
  readonly workspaces: Workspaces
  readonly usage: Usage
  /** Every operation of the description as it is, with the same care for lost connections. */
  readonly api: Transport

  constructor(options: AtollOptions = {}) {
    const apiKey = options.apiKey ?? environment("ATOLL_API_KEY")
    if (apiKey === undefined) throw new TypeError("No API key: give apiKey, or set ATOLL_API_KEY.")
    if (!keyForm.test(apiKey)) throw new TypeError("The API key has characters that no key has: a line end, perhaps.")
    this.api = new Transport({
      url: new URL(options.url ?? environment("ATOLL_URL") ?? "http://127.0.0.1:8080"),
      apiKey,
      fetch: options.fetch ?? ((...request) => globalThis.fetch(...request)),
      attemptSeconds: options.attemptSeconds ?? 30,
      patienceSeconds: options.patienceSeconds ?? 60,
      unreachedSeconds: options.unreachedSeconds ?? Number.POSITIVE_INFINITY,
      userAgent: `atoll-client/${libraryVersion} (description ${descriptionVersion})`
    })
    this.workspaces = new Workspaces(this.api)
    this.sandboxes = new Sandboxes(this.api, this.workspaces)
    this.usage = new Usage(this.api)
  }

  /** Whose key it is, and what it may. */
  me(options: Waiting = {}): Promise<Me> {
    return this.api.call("getMe", options)
  }

  /** What happens to all that the account has, from now on or after a position. Each transition once, over lost connections. */
  events(options: FollowEventsOptions = {}): AsyncGenerator<TransitionEvent, void, undefined> {
    return followEvents(this.api, null, options)
  }
}
