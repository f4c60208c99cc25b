/**
 * `node examples/lease/main.ts [--data FOLDER] [--port N] [--lease-ms N]`: two clients want one lock. It ends when both leases are over, or by Ctrl-C.
 *
 * Kill it with SIGKILL and start it again: the lock is still held, by the same token, and the lease ends when it would have ended.
 */
import type { AddressInfo } from "node:net"
import { parseArgs } from "node:util"
import { ActorDatabase, ActorHost, type ActorState, ActorSystem, Actors } from "atoll/engine"
import { Deferred, Effect, Layer, References } from "effect"
import { serveChart } from "./chart.ts"
import { type LockContext, lockMachine } from "./lock.ts"
import { Clients, lockActors } from "./lockActor.ts"

const { values } = parseArgs({
  options: {
    data: { type: "string", default: ".lease" },
    port: { type: "string", default: "0" },
    "lease-ms": { type: "string", default: "15000" }
  }
})

const id = "lock_printer"
const byClient = { cause: "client", requestId: null }
const say = (line: string) => console.log(`${new Date().toISOString()} ${line}`)

const shown = ({
  value,
  context: { holder, token, expiresAt, waiting }
}: Pick<ActorState<LockContext>, "value" | "context">) =>
  holder === null
    ? `${value}, the last token was ${token}`
    : `${value} by ${holder} with token ${token} until ${new Date(expiresAt!).toISOString()}, waiting: ${waiting.join(", ") || "none"}`

/** A page with the present state, until the scope closes. */
const chart = Effect.fnUntraced(function* (listeners: Set<(json: string) => void>, present: () => string) {
  const server = serveChart((tell) => {
    listeners.add(tell)
    tell(present())
    return () => listeners.delete(tell)
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void server.listen(Number(values.port), "127.0.0.1", () => resume(Effect.void))),
    () =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      })
  )
  say(`chart: http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
})

const program = Effect.gen(function* () {
  const host = yield* ActorHost
  const actors = yield* Actors
  const input = { leaseMs: Number(values["lease-ms"]), at: Date.now() }
  yield* host.create(lockMachine, {
    id,
    input,
    accountId: "example",
    sandboxId: "",
    payload: null,
    idempotency: null,
    ...byClient
  })
  const found = (yield* actors.read(id))!
  const before = { value: found.status, context: found.context as LockContext }
  say(`found: ${shown(before)}`)

  let present = JSON.stringify({ state: before.value, ...before.context })
  const listeners = new Set<(json: string) => void>()
  const over = yield* Deferred.make<void>()
  yield* Effect.forkScoped(
    host.follow(lockMachine, id, found.revision, (state) => {
      say(shown(state))
      present = JSON.stringify({ state: state.value, ...state.context })
      for (const tell of listeners) tell(present)
      if (state.context.holder === null) Deferred.doneUnsafe(over, Effect.void)
    })
  )
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => Deferred.doneUnsafe(over, Effect.void))
  yield* chart(listeners, () => present)
  if (before.context.holder === null) {
    yield* host.send(lockMachine, id, { type: "ACQUIRE", client: "ann" }, byClient)
    yield* host.send(lockMachine, id, { type: "ACQUIRE", client: "ben" }, byClient)
  }
  yield* Deferred.await(over)
})

const clients = Layer.succeed(Clients, {
  tell: ({ client, token }) =>
    Effect.sync(() => {
      say(`${client} hears of token ${token}`)
      return true
    })
})

await Effect.runPromise(
  Effect.scoped(program).pipe(
    Effect.provide(lockActors.pipe(Layer.provideMerge(ActorSystem.layer()), Layer.provide(clients))),
    Effect.provide(ActorDatabase.layer({ dataDir: values.data })),
    Effect.provideService(References.MinimumLogLevel, "Warn")
  )
)
