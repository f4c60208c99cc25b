/** The latest description of a host: a restarted host process may be another version of Atoll. */
import { Effect, type Scope } from "effect"
import type { RuntimeUnavailable } from "../Runtime.ts"
import type { HostDescription } from "./HostDescription.ts"
import type { HostClient } from "./HostRpcs.ts"
import { asked, silence } from "./hostFaults.ts"

const DESCRIBED_WITHIN = "10 seconds"
/** An older description is requested again when it is used. */
const DESCRIPTION_MS = 30_000
export class DescribedHost {
  readonly #hostId: string
  readonly #scope: Scope.Scope
  readonly #runFork: ReturnType<typeof Effect.runForkWith<never>>
  #client: HostClient | null = null
  #description: HostDescription | null = null
  #describedAt = 0

  private constructor(hostId: string, scope: Scope.Scope, runFork: ReturnType<typeof Effect.runForkWith<never>>) {
    this.#hostId = hostId
    this.#scope = scope
    this.#runFork = runFork
  }

  /** Requests in the background end with the scope. */
  static readonly make = Effect.fnUntraced(function* (hostId: string) {
    const scope = yield* Effect.scope
    return new DescribedHost(hostId, scope, Effect.runForkWith(yield* Effect.context<never>()))
  })

  /** The first description, by the client that is used from now on. It may be another host's. */
  describe(by: HostClient): Effect.Effect<HostDescription, RuntimeUnavailable> {
    this.#client = by
    return asked(by.Describe(undefined)).pipe(
      Effect.timeoutOrElse({ duration: DESCRIBED_WITHIN, orElse: () => Effect.fail(silence) }),
      Effect.tap((it) =>
        Effect.sync(() => {
          if (it.hostId !== this.#hostId) return
          this.#description = it
          this.#describedAt = performance.now()
        })
      )
    )
  }

  /** Does nothing before the first description was requested. */
  readonly describeAgain: Effect.Effect<void> = Effect.suspend(() =>
    this.#client === null
      ? Effect.void
      : Effect.asVoid(Effect.forkIn(Effect.ignore(this.describe(this.#client)), this.#scope))
  )

  /** Requests a new description if this one is old. */
  refresh(): void {
    if (performance.now() - this.#describedAt <= DESCRIPTION_MS) return
    this.#describedAt = performance.now()
    this.#runFork(this.describeAgain)
  }

  /** Only once the host was described. */
  get said(): HostDescription {
    return this.#description!
  }
}
