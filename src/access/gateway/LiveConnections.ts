/**
 * The open connections into Sandboxes that this process carries: previews, tunnels and SSH.
 *
 * A connection belongs to the actor that admitted it. Connections are bounded for each Sandbox and account, over all processes (`ClusterSemaphore`). The
 * actor's command cuts them; if the command runs in another process, this one notices by reading the actor's state twice a second.
 */
import { Context, Data, Effect, Latch, Layer, Metric, type Scope } from "effect"
import { Settings } from "../../Config.ts"
import { measuredCounter, measuredGauge } from "../../platform/metric/measured.ts"
import { Shutdown } from "../../platform/shutdown/Shutdown.ts"
import { worker } from "../../platform/worker/Worker.ts"
import { SandboxUse } from "../../sandbox/SandboxUse.ts"
import { Actors } from "../../store/Actors.ts"
import { ClusterSemaphore } from "../../store/ClusterSemaphore.ts"
import type { Bound } from "../../store/HeldPermits.ts"

const lookEveryMs = 500

const openNow = Metric.gauge("atoll_connections_open", {
  description: "Previews, tunnels, terminals and SSH channels into Sandboxes that this process carries."
})

const refusedSoFar = Metric.counter("atoll_connections_refused_total", {
  description: "Connections that were refused because the Sandbox or the account was at its limit.",
  incremental: true
})

export interface Connection {
  /** The preview, access or grant that admitted it. */
  readonly actorId: string
  readonly accountId: string
  readonly sandboxId: string
  /** Ends it immediately; called at most once, never after `release`. `over`: its actor has ended; `stopping`: only this process stops. */
  readonly cut: (why: "over" | "stopping") => void
  /** The condition on the actor under which the connection stays. */
  readonly mayGoOn: (actor: { readonly status: string; readonly context: unknown }) => boolean
}

/** Ends the bookkeeping of a connection; further calls do nothing. */
export type Release = () => void

/** Connections of one actor, each with what ends its use and returns its permits. */
type Carried = Map<Connection, () => void>

const both = (one: () => void, other: () => void) => (): void => {
  one()
  other()
}

/** The Sandbox or the account is at its limit. */
export class TooManyConnections extends Data.TaggedError("TooManyConnections") {}

export class LiveConnections extends Context.Service<
  LiveConnections,
  {
    /** Null if the Sandbox or the account is at its limit, or this process holds no free permit (`gather`). */
    readonly open: (connection: Connection) => Release | null
    /** Acquires two permits for `open`, within the limits. Null: this process has them already. */
    readonly gather: (whose: Pick<Connection, "accountId" | "sandboxId">) => Effect.Effect<void> | null
    /** `open` with a short wait for a permit; the scope's end releases it. */
    readonly enter: (connection: Connection) => Effect.Effect<void, TooManyConnections, Scope.Scope>
    /**
     * Holds a permit from before `use` begins until it has ended. For a fiber that serves only this connection: a cut
     * interrupts that fiber.
     */
    readonly carry: <A, E, R>(
      connection: Omit<Connection, "cut">,
      use: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | TooManyConnections, R>
    /** Cuts the connections of an actor for which `which` holds; all by default. Returns their number. */
    readonly cut: (actorId: string, which?: (connection: Connection) => boolean) => number
    /** The number of an actor's connections. */
    readonly countOf: (actorId: string) => number
    /** Of one Sandbox, or of all. */
    readonly count: (sandboxId?: string) => number
  }
>()("atoll/access/gateway/LiveConnections") {
  static readonly layer = Layer.effect(
    LiveConnections,
    Effect.gen(function* () {
      const { connectionsPerSandbox, connectionsPerAccount } = yield* Settings
      const actors = yield* Actors
      const byActor = new Map<string, Carried>()
      const perSandbox = new Map<string, number>()
      const semaphore = yield* ClusterSemaphore
      /** A Sandbox is in use while something is connected to it. */
      const uses = yield* SandboxUse
      const boundsOf = ({
        sandboxId,
        accountId
      }: Pick<Connection, "accountId" | "sandboxId">): ReadonlyArray<Bound> => [
        { subject: `connections ${sandboxId}`, most: connectionsPerSandbox },
        { subject: `connections ${accountId}`, most: connectionsPerAccount }
      ]
      let total = 0
      let refused = 0
      yield* measuredGauge(openNow, () => total)
      yield* measuredCounter(refusedSoFar, () => refused)
      /** Open while there are connections to check. */
      const some = yield* Latch.make()

      const add = (sandboxId: string, step: 1 | -1) => {
        const next = (perSandbox.get(sandboxId) ?? 0) + step
        if (next === 0) perSandbox.delete(sandboxId)
        else perSandbox.set(sandboxId, next)
      }

      const forget = (connection: Connection): boolean => {
        const own = byActor.get(connection.actorId)
        const end = own?.get(connection)
        if (own === undefined || end === undefined) return false
        own.delete(connection)
        end()
        if (own.size === 0) byActor.delete(connection.actorId)
        add(connection.sandboxId, -1)
        total--
        if (total === 0) some.closeUnsafe()
        return true
      }

      const open = (connection: Connection): Release | null => {
        const { actorId, sandboxId } = connection
        const leave = semaphore.take(boundsOf(connection))
        if (leave === null) {
          refused++
          return null
        }
        const own: Carried = byActor.get(actorId) ?? new Map()
        byActor.set(actorId, own.set(connection, both(uses.begin(sandboxId), leave)))
        add(sandboxId, 1)
        total++
        some.openUnsafe()
        return () => void forget(connection)
      }

      const gather = (whose: Pick<Connection, "accountId" | "sandboxId">) => semaphore.gather(boundsOf(whose), 2)

      const gathered = (connection: Omit<Connection, "cut">) =>
        Effect.suspend(() => semaphore.gather(boundsOf(connection), 1) ?? Effect.void)
      const opened = (connection: Connection) =>
        Effect.suspend(() => {
          const release = open(connection)
          return release === null ? Effect.fail(new TooManyConnections()) : Effect.succeed(release)
        })

      const enter = (connection: Connection) =>
        Effect.andThen(
          gathered(connection),
          Effect.acquireRelease(opened(connection), (release) => Effect.sync(release))
        ).pipe(Effect.asVoid)

      const carry = <A, E, R>(
        connection: Omit<Connection, "cut">,
        use: Effect.Effect<A, E, R>
      ): Effect.Effect<A, E | TooManyConnections, R> =>
        Effect.withFiber((fiber) =>
          Effect.andThen(
            gathered(connection),
            Effect.acquireUseRelease(
              opened({ ...connection, cut: () => fiber.interruptUnsafe() }),
              () => use,
              (release) => Effect.sync(release)
            )
          )
        )

      const end = (doomed: ReadonlyArray<Connection>, why: "over" | "stopping"): number => {
        for (const connection of doomed) if (forget(connection)) connection.cut(why)
        return doomed.length
      }

      const cut = (actorId: string, which: (connection: Connection) => boolean = () => true): number =>
        end([...(byActor.get(actorId)?.keys() ?? [])].filter(which), "over")

      const look = Effect.suspend(() =>
        Effect.forEach(
          [...byActor.keys()],
          (actorId) =>
            Effect.map(actors.read(actorId), (actor) =>
              cut(actorId, (connection) => actor === null || !connection.mayGoOn(actor))
            ),
          { concurrency: "unbounded", discard: true }
        )
      ).pipe(Effect.catchCause((cause) => Effect.logWarning("Could not check open connections", cause)))
      yield* some.await.pipe(Effect.andThen(Effect.sleep(lookEveryMs)), Effect.andThen(look), Effect.forever, (looks) =>
        worker("connection looks", looks)
      )
      const shutdown = yield* Shutdown
      shutdown.onBegin(() => {
        for (const connections of [...byActor.values()]) end([...connections.keys()], "stopping")
      })
      // A service without a listener begins its stop here.
      yield* Effect.addFinalizer(() => Effect.sync(shutdown.begin))

      return LiveConnections.of({
        open,
        gather,
        enter,
        carry,
        cut,
        countOf: (actorId) => byActor.get(actorId)?.size ?? 0,
        count: (sandboxId) => (sandboxId === undefined ? total : (perSandbox.get(sandboxId) ?? 0))
      })
    })
  )
}
