/** A client of one Atoll service with one API key. */
import { type FollowEventsOptions, followEvents, type TransitionEvent } from "./events.ts"
import type { Me } from "./generated/schemas.ts"
import { descriptionVersion } from "./generated/schemas.ts"
import { Transport } from "./http/Transport.ts"
import { Images } from "./Images.ts"
import { Sandboxes } from "./Sandboxes.ts"
import { Snapshots } from "./Snapshots.ts"
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
  /**
   * The longest time of one attempt of a request until its answer has begun. By default 30. Not a command's time-out.
   */
  readonly attemptSeconds?: number | undefined
  /** How long a request is retried while the service is away or a rate limit holds. By default 60. 0: no retries. */
  readonly patienceSeconds?: number | undefined
  /** The same while the service was never reached, which may be a wrong address. By default `patienceSeconds`. */
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
  readonly snapshots: Snapshots
  readonly images: Images
  readonly workspaces: Workspaces
  readonly usage: Usage
  /** Every operation of the description, with the same retries after lost connections. */
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
    this.snapshots = new Snapshots(this.api, this.workspaces)
    this.images = new Images(this.api, this.workspaces)
    this.usage = new Usage(this.api)
  }

  /** The key's account, and its scopes. */
  me(options: Waiting = {}): Promise<Me> {
    return this.api.call("getMe", options)
  }

  /** Every transition in the account, from now on or after a position. Each once, over lost connections. */
  events(options: FollowEventsOptions = {}): AsyncGenerator<TransitionEvent, void, undefined> {
    return followEvents(this.api, null, options)
  }
}
