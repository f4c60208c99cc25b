/** Commands of one lane exclude each other, however many there are and however long the earlier ones take to end. */

import { assert, layer } from "@effect/vitest"
import { Context, Deferred, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { sandboxMachine } from "../../../machines/sandbox.ts"
import { ActorCluster } from "../../../src/engine/ActorCluster.ts"
import type { AnyEvent } from "../../../src/engine/ActorDefinition.ts"
import { ActorHost } from "../../../src/engine/ActorHost.ts"
import { Journal } from "../../../src/store/Journal.ts"
import { interpretedBy } from "../../support/interpretedBy.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

const turn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))

/** `provision` runs until it is ended, and its end lasts until `released`; every other command is done immediately. */
const slowToEnd = Effect.fnUntraced(function* (sandboxId: string) {
  const released = yield* Deferred.make<void>()
  const seen: Array<string> = []
  const interpret = (type: string, id: string): Effect.Effect<AnyEvent | null> =>
    Effect.suspend(() => {
      if (id !== sandboxId) return Effect.never
      seen.push(`${type} begins`)
      if (type !== "provision") return Effect.never
      return Effect.onInterrupt(Effect.never, () =>
        Effect.sync(() => seen.push("provision is ending")).pipe(
          Effect.andThen(Deferred.await(released)),
          Effect.andThen(Effect.sync(() => seen.push("provision ended")))
        )
      )
    })
  const saw = (what: string) =>
    Effect.repeat(turn, { until: () => seen.includes(what), times: 20_000 }).pipe(
      Effect.andThen(Effect.sync(() => assert.include(seen, what)))
    )
  /** A failing test must not wait for a release that never comes. */
  const releasing = Effect.ensuring(Deferred.succeed(released, undefined))
  return { released, seen, interpret, saw, releasing }
})

type Interpret = (type: string, sandboxId: string) => Effect.Effect<AnyEvent | null>

const hostOf = (interpret: Interpret) =>
  Layer.effectDiscard(
    Effect.flatMap(ActorHost, (actors) =>
      actors.register(
        interpretedBy(
          sandboxMachine,
          (type) => (type === "closeDependents" ? null : "runtime"),
          ({ type }, scope) => interpret(type, scope.state().id)
        )
      )
    )
  ).pipe(Layer.provideMerge(ActorHost.layer()), Layer.provide([Journal.layer, ActorCluster.layerSingle]))

const newSandbox = (id: string) => ({
  id,
  accountId: "acc_lane",
  sandboxId: id,
  input: {
    sandboxId: id,
    accountId: "acc_lane",
    workspaceId: "wsp_lane",
    volumeId: "vol_lane",
    hostId: null,
    name: null,
    runtime: "namespace" as const,
    profile: { vcpus: 1, memoryBytes: 1, diskBytes: 1 },
    networkEnabled: false,
    metadata: {},
    env: null,
    lifetime: null,
    bootTimeoutMs: 3_600_000,
    snapshotId: null,
    image: null,
    at: Date.now()
  },
  payload: null,
  cause: "client",
  requestId: null,
  idempotency: null
})

const client = { cause: "client" }
/** Enough time for any wrong event to happen. */
const someTurns = Effect.repeat(turn, { times: 20 })
const ofRuntime = (seen: ReadonlyArray<string>) => seen.filter((what) => !what.startsWith("closeDependents"))

layer(TestDatabase.layer, { excludeTestServices: true })("lanes", (it) => {
  it.effect("a third command waits for the first although it ended the second, which waited for it too", () =>
    Effect.gen(function* () {
      const { released, seen, interpret, saw, releasing } = yield* slowToEnd("sbx_three")
      yield* Effect.gen(function* () {
        const actors = yield* ActorHost
        yield* actors.create(sandboxMachine, newSandbox("sbx_three"))
        yield* saw("provision begins")
        yield* actors.send(sandboxMachine, "sbx_three", { type: "STOP" }, client)
        yield* saw("provision is ending")
        yield* actors.send(sandboxMachine, "sbx_three", { type: "DELETE" }, client)
        yield* someTurns
        assert.deepStrictEqual(ofRuntime(seen), ["provision begins", "provision is ending"])
        yield* Deferred.succeed(released, undefined)
        yield* saw("destroyRuntime begins")
        assert.deepStrictEqual(ofRuntime(seen), [
          "provision begins",
          "provision is ending",
          "provision ended",
          "destroyRuntime begins"
        ])
      }).pipe(releasing, Effect.provide(hostOf(interpret)))
    })
  )

  it.effect("a newer command of a lane replaces the older ones in the store", () =>
    Effect.gen(function* () {
      const actors = yield* ActorHost
      const sql = yield* SqlClient.SqlClient
      yield* actors.create(sandboxMachine, newSandbox("sbx_place"))
      yield* actors.send(sandboxMachine, "sbx_place", { type: "STOP" }, client)
      yield* actors.send(sandboxMachine, "sbx_place", { type: "DELETE" }, client)
      const [row] = yield* sql<{ readonly pending: ReadonlyArray<{ readonly type: string }> }>`
        select pending from actors where id = 'sbx_place'`
      assert.deepStrictEqual(
        row!.pending.map(({ type }) => type),
        ["closeDependents", "closeDependents", "destroyRuntime"]
      )
    }).pipe(Effect.provide(hostOf(() => Effect.never)))
  )

  it.effect("a reloaded actor waits for the commands that its former instance is still ending", () =>
    Effect.gen(function* () {
      const open = (interpret: Interpret) =>
        Effect.map(Layer.build(hostOf(interpret)), (context) => Context.get(context, ActorHost))
      const { released, seen, interpret, saw, releasing } = yield* slowToEnd("sbx_anew")
      const left = yield* open(interpret)
      const right = yield* open(() => Effect.never)
      yield* Effect.gen(function* () {
        yield* left.create(sandboxMachine, newSandbox("sbx_anew"))
        yield* saw("provision begins")
        yield* right.send(sandboxMachine, "sbx_anew", { type: "STOP" }, client)
        // The remembered state of `left` is behind now: it reloads the row and runs the pending commands.
        yield* left.send(sandboxMachine, "sbx_anew", { type: "START" }, client)
        yield* left.send(sandboxMachine, "sbx_anew", { type: "STOP" }, client)
        yield* saw("provision is ending")
        yield* someTurns
        assert.deepStrictEqual(ofRuntime(seen), ["provision begins", "provision is ending"])
        yield* Deferred.succeed(released, undefined)
        yield* saw("stopRuntime begins")
        assert.deepStrictEqual(ofRuntime(seen), [
          "provision begins",
          "provision is ending",
          "provision ended",
          "stopRuntime begins"
        ])
      }).pipe(releasing)
    }).pipe(Effect.scoped)
  )

  it.effect("a command whose work is interrupted from within is repeated", () => {
    let tries = 0
    return Effect.gen(function* () {
      const actors = yield* ActorHost
      yield* actors.create(sandboxMachine, newSandbox("sbx_within"))
      yield* Effect.repeat(turn, { until: () => tries > 1 })
    }).pipe(Effect.provide(hostOf((_, id) => (id === "sbx_within" && tries++ === 0 ? Effect.interrupt : Effect.never))))
  })
})
