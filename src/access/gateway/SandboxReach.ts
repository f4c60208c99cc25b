/** Access to one boot of a Sandbox: its state, connections to its ports, and its guest's confirmation that none is left. */

import type { Duplex } from "node:stream"
import { Clock, Context, Effect, Layer, Schema, type Scope } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { sandboxMachine } from "../../../machines/sandbox.ts"
import { type PublicReason, publicText } from "../../../schemas/PublicText.ts"
import type { Settings } from "../../Config.ts"
import { ActorHost } from "../../engine/ActorHost.ts"
import { readActor } from "../../engine/readActor.ts"
import { type Guest, GuestUnavailable, type PortClosed } from "../../runtime/Guest.ts"
import { Runtime } from "../../runtime/Runtime.ts"
import { runningSandbox } from "../../sandbox/RunningSandbox.ts"
import { inhabitedStates, isAsleep, isAwaited, isUp } from "../../sandbox/sandboxStates.ts"
import { Actors } from "../../store/Actors.ts"
import { Int8 } from "../../store/Columns.ts"
import type { Journal } from "../../store/Journal.ts"

const didNotWake = publicText`The Sandbox did not wake.`
const answerWithin = "5 seconds"

/** A boot of a Sandbox, with its account. */
export interface Boot {
  readonly accountId: string
  readonly sandboxId: string
  readonly generation: number
}

/** The event for a newly stored preview, access or grant. */
export type Confirmation =
  | { readonly type: "SANDBOX_CONFIRMED" }
  | { readonly type: "SANDBOX_REFUSED"; readonly reason: PublicReason }

export class SandboxReach extends Context.Service<
  SandboxReach,
  {
    /** Null if that boot runs (or sleeps) and its guest answers; else the reason. */
    readonly obstacle: (boot: Boot) => Effect.Effect<PublicReason | null>
    /** The same as the result of the command `confirmSandbox`. */
    readonly confirmation: (boot: Boot) => Effect.Effect<Confirmation>
    /** True once that boot has ended. */
    readonly isOver: (boot: Boot) => Effect.Effect<boolean>
    /** Its guest; a sleeping Sandbox wakes, unless its account is suspended or has no credit left. */
    readonly guest: (boot: Boot) => Effect.Effect<Guest, GuestUnavailable>
    /** One TCP connection to a port, closed with the scope; wakes a sleeping Sandbox, like `guest`. */
    readonly dial: (boot: Boot, port: number) => Effect.Effect<Duplex, PortClosed | GuestUnavailable, Scope.Scope>
    /**
     * True if that boot has ended, or its guest has answered a request that was sent after all earlier ones: then the guest
     * knows of all connections that were cut here.
     */
    readonly hasSettled: (boot: Boot) => Effect.Effect<boolean>
  }
>()("atoll/access/gateway/SandboxReach") {
  static readonly layer = Layer.effect(
    SandboxReach,
    Effect.gen(function* () {
      const runtime = yield* Runtime
      const actors = yield* Actors
      const host = yield* ActorHost
      const sql = yield* SqlClient.SqlClient
      const wake = yield* Effect.context<ActorHost | Actors | Journal | Settings>()

      /** The Sandbox's status if that boot may still have processes, else null. */
      const statusOf = Effect.fnUntraced(function* ({ accountId, sandboxId, generation }: Boot) {
        const record = yield* readActor(actors, sandboxMachine, sandboxId)
        const isSame = record?.accountId === accountId && record.context.generation === generation
        return isSame && inhabitedStates.includes(record.status) ? record.status : null
      })

      const findAccount = SqlSchema.findOne({
        Request: Schema.String,
        Result: Schema.Struct({ is_suspended: Schema.Boolean, exhausted_at: Schema.NullOr(Int8) }),
        execute: (accountId) => sql`
          select suspended_at is not null as is_suspended, exhausted_at from accounts where id = ${accountId}`
      })

      /** These callers have no API key that was checked for it. Waking counts as a start. */
      const mayWake = Effect.fnUntraced(function* (accountId: string) {
        const { is_suspended, exhausted_at } = yield* Effect.orDie(findAccount(accountId))
        const isExhausted = exhausted_at !== null && exhausted_at <= (yield* Clock.currentTimeMillis)
        if (!is_suspended && !isExhausted) return
        const message = is_suspended
          ? publicText`The Sandbox does not wake: its account is suspended.`
          : publicText`The Sandbox does not wake: its account has no credit left.`
        return yield* new GuestUnavailable({ message, shown: message })
      })

      const guest = Effect.fnUntraced(function* (boot: Boot) {
        // A Sandbox that is being frozen still has a guest, so the state is read first, from the owner's memory if it is here.
        const known = host.peek(sandboxMachine, boot.sandboxId)
        const status = known?.value ?? (yield* statusOf(boot))
        if (!isAwaited(status)) return yield* runtime.guest(boot.sandboxId, boot.generation)
        if (isAsleep(status)) yield* mayWake(boot.accountId)
        yield* runningSandbox(boot.accountId, boot.sandboxId).pipe(
          Effect.provideContext(wake),
          Effect.mapError(() => new GuestUnavailable({ message: didNotWake, shown: didNotWake }))
        )
        return yield* runtime.guest(boot.sandboxId, boot.generation)
      })

      /** Any round trip: once the guest answers, it has received all earlier messages. */
      const roundTrip = (found: Guest) =>
        found.processes.list.pipe(
          Effect.timeout(answerWithin),
          Effect.match({ onSuccess: () => true, onFailure: () => false })
        )

      const obstacle = Effect.fn("SandboxReach.obstacle")(function* (boot: Boot) {
        const status = yield* statusOf(boot)
        if (status === null)
          return { code: "SANDBOX_NOT_RUNNING", message: publicText`The Sandbox does not run any more.` }
        if (!isUp(status)) return null
        const answers = yield* runtime.guest(boot.sandboxId, boot.generation).pipe(
          Effect.flatMap(roundTrip),
          Effect.catchTag("GuestUnavailable", () => Effect.succeed(false))
        )
        return answers ? null : { code: "GUEST_UNAVAILABLE", message: publicText`The Sandbox does not answer.` }
      })

      return SandboxReach.of({
        obstacle,
        confirmation: (boot) =>
          Effect.map(
            obstacle(boot),
            (reason): Confirmation =>
              reason === null ? { type: "SANDBOX_CONFIRMED" } : { type: "SANDBOX_REFUSED", reason }
          ),
        isOver: (boot) => Effect.map(statusOf(boot), (status) => status === null),
        guest,
        dial: (boot, port) => Effect.flatMap(guest(boot), (found) => found.dial(port)),
        hasSettled: Effect.fn("SandboxReach.hasSettled")(function* (boot) {
          const status = yield* statusOf(boot)
          if (status === null || isAsleep(status)) return true
          return yield* runtime.guest(boot.sandboxId, boot.generation).pipe(
            Effect.flatMap(roundTrip),
            Effect.catchTag("GuestUnavailable", () => Effect.succeed(false))
          )
        })
      })
    })
  )
}
