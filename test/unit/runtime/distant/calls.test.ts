/** The protocol of a service and a host: no service misses news, and a host may lie or stop. */

import { assert, expect, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Queue, Schema, Scope, Stream } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { publicText } from "../../../../schemas/PublicText.ts"
import { simulatedRuntime } from "../../../../src/host/simulated/SimulatedRuntime.ts"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { peerRpcServer } from "../../../../src/peer/PeerRpc.ts"
import { type PeerAddress, PeerSockets } from "../../../../src/peer/PeerSockets.ts"
import { distantRuntime } from "../../../../src/runtime/distant/distantRuntime.ts"
import type { HostDescription } from "../../../../src/runtime/distant/HostDescription.ts"
import {
  type ConsoleChunk,
  Runtime,
  type RuntimeDown,
  RuntimeRefused,
  type RuntimeStall
} from "../../../../src/runtime/Runtime.ts"
import { eventually } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"
import { describedBy, hostId, peers, served } from "../../../support/runtime/distant/TestDistant.ts"

const sockets = Effect.map(Layer.build(peers), (context) => Context.get(context, PeerSockets))

const down = (sandboxId: string, generation: number): RuntimeDown => ({
  ...{ type: "down", sandboxId, generation },
  reason: { code: "CRASHED", message: publicText`It ended.` }
})

const chunk = (offset: number, text: string): ConsoleChunk => ({
  ...{ sandboxId: "one", generation: 1, offset },
  bytes: new TextEncoder().encode(text)
})

/** A near runtime whose news the test sends, and how to reach it. */
const told = Effect.gen(function* () {
  const world = yield* SimulatedWorld.make
  const downs = yield* Queue.unbounded<RuntimeDown>()
  const stalls = yield* Queue.unbounded<RuntimeStall>()
  const consoles = yield* Queue.unbounded<ConsoleChunk>()
  const near = Runtime.of({
    ...simulatedRuntime(world),
    downs: Stream.fromQueue(downs),
    stalls: Stream.fromQueue(stalls),
    console: Stream.fromQueue(consoles)
  })
  const own = yield* sockets
  const to = yield* Effect.provideService(served(near), PeerSockets, own)
  const connect = distantRuntime(hostId, to).pipe(Effect.provideService(PeerSockets, own))
  return { ...{ world, near, own, to, connect }, say: { downs, stalls, consoles } }
})

const listening = <A>(stream: Stream.Stream<A>) =>
  Effect.gen(function* () {
    const heard: Array<A> = []
    const fiber = yield* Effect.forkChild(Stream.runForEach(stream, (one) => Effect.sync(() => void heard.push(one))))
    return { heard, fiber }
  })

const has = (condition: () => boolean) => eventually(Effect.sync(condition))

it.live("every service gets news of Sandboxes, also earlier ones, until their generation is over", () =>
  Effect.gen(function* () {
    const { connect, say } = yield* told
    const one = yield* connect
    const early = yield* listening(one.downs)
    Queue.offerUnsafe(say.downs, down("first", 1))
    Queue.offerUnsafe(say.downs, down("second", 4))
    yield* has(() => early.heard.length === 2)
    const other = yield* connect
    const late = yield* listening(other.downs)
    yield* has(() => late.heard.length === 2)
    expect(late.heard).toEqual([down("first", 1), down("second", 4)])

    yield* one.stop("first", 1)
    yield* one.provision(sandboxSpec("second", { generation: 5 }))
    Queue.offerUnsafe(say.downs, down("third", 1))
    yield* has(() => early.heard.length === 3 && late.heard.length === 3)
    const last = yield* listening((yield* connect).downs)
    yield* has(() => last.heard.length > 0)
    expect(last.heard).toEqual([down("third", 1)])

    const reason = { code: "HOST_FULL" as const, message: publicText`The disk is full.` }
    Queue.offerUnsafe(say.stalls, { type: "stalled", sandboxId: "second", generation: 5, reason })
    const stalls = yield* listening(one.stalls)
    yield* has(() => stalls.heard.length === 1)
    Queue.offerUnsafe(say.stalls, { type: "resumed", sandboxId: "second", generation: 5 })
    yield* has(() => stalls.heard.length === 2)
    const resumed = yield* listening(other.stalls)
    yield* has(() => resumed.heard.length > 0)
    expect(resumed.heard).toEqual([{ type: "resumed", sandboxId: "second", generation: 5 }])
  }).pipe(Effect.scoped)
)

it.live("a console goes to the service that requested it last, with the end of what another one got", () =>
  Effect.gen(function* () {
    const { connect, say } = yield* told
    const one = yield* listening((yield* connect).console)
    Queue.offerUnsafe(say.consoles, chunk(0, "one "))
    yield* has(() => one.heard.length === 1)
    expect(one.heard).toEqual([chunk(0, "one ")])

    const other = yield* listening((yield* connect).console)
    yield* has(() => other.heard.length === 1)
    // It would request it again after a while, and be the last one then.
    yield* Fiber.interrupt(one.fiber)
    Queue.offerUnsafe(say.consoles, chunk(4, "two"))
    yield* has(() => other.heard.length === 2)
    expect(other.heard).toEqual([chunk(0, "one "), chunk(4, "two")])
    expect(one.heard).toHaveLength(1)

    // Without a listener, the driver keeps its buffer.
    yield* Fiber.interrupt(other.fiber)
    const much = new TextEncoder().encode("x".repeat(64 * 1024))
    const most = yield* listening((yield* connect).console)
    yield* has(() => most.heard.length === 2)
    for (let at = 0; at < 64; at++) Queue.offerUnsafe(say.consoles, { ...chunk(7 + at * much.length, ""), bytes: much })
    yield* has(() => most.heard.length === 66)
    const again = yield* listening((yield* connect).console)
    yield* has(() => again.heard.length > 0)
    expect(again.heard.reduce((sum, { bytes }) => sum + bytes.length, 0)).toBeLessThanOrEqual(1024 ** 2)
  }).pipe(Effect.scoped)
)

it.live("a consumer of news that does not read delays no call", () =>
  Effect.gen(function* () {
    const { connect, say } = yield* told
    const one = yield* connect
    const stuck = yield* Deferred.make<void>()
    yield* Effect.forkChild(
      Stream.runForEach(one.console, () => Effect.andThen(Deferred.succeed(stuck, undefined), Effect.never))
    )
    for (let at = 0; at < 2_000; at++) Queue.offerUnsafe(say.consoles, chunk(at, "x"))
    yield* Deferred.await(stuck)
    for (let at = 0; at < 50; at++) yield* one.inventory
  }).pipe(Effect.scoped)
)

it.live("a boot reports its turn, can be abandoned before it, and fails with the driver's error", () =>
  Effect.gen(function* () {
    const { world, connect } = yield* told
    const one = yield* connect
    const gate = yield* Deferred.make<void>()
    const arrived = yield* Deferred.make<void>()
    const left = yield* Deferred.make<void>()
    world.intercept = (call) =>
      call === "turn"
        ? Deferred.succeed(arrived, undefined).pipe(
            Effect.andThen(Deferred.await(gate)),
            Effect.onInterrupt(() => Deferred.succeed(left, undefined))
          )
        : Effect.void
    let turns = 0
    const waiting = yield* Effect.forkChild(one.provision(sandboxSpec("given-up"), () => turns++))
    yield* Deferred.await(arrived)
    yield* Fiber.interrupt(waiting)
    yield* Deferred.await(left)
    expect(yield* one.inventory).toEqual([])
    expect(turns).toBe(0)

    yield* Deferred.succeed(gate, undefined)
    yield* one.provision(sandboxSpec("first"), () => turns++)
    expect(turns).toBe(1)
    const full = new RuntimeRefused({ code: "HOST_FULL", message: publicText`Nothing is free.` })
    world.intercept = () => Effect.fail(full)
    expect(yield* Effect.flip(one.provision(sandboxSpec("second")))).toEqual(full)
    world.intercept = () => Effect.die(new Error("a secret of the host's"))
    const fault = yield* Effect.flip(one.provision(sandboxSpec("third")))
    expect(fault).toMatchObject({ _tag: "RuntimeUnavailable" })
    expect(fault.message).not.toContain("secret")
  }).pipe(Effect.scoped)
)

it.live(
  "a boot that arrives after the Sandbox was destroyed there is refused, because it may be up on another host by then",
  () =>
    Effect.gen(function* () {
      const { world, near, connect } = yield* told
      const one = yield* connect
      yield* one.destroy("late")
      expect(yield* Effect.flip(one.provision(sandboxSpec("late")))).toMatchObject({ code: "HOST_FULL" })
      expect([...world.boots, ...(yield* near.inventory)]).toEqual([])
      yield* one.provision(sandboxSpec("other"))
      expect(world.boots).toEqual(["other#1"])
    }).pipe(Effect.scoped)
)

it.live("a host that stops fails its pending calls, and is found again", () =>
  Effect.gen(function* () {
    const world = yield* SimulatedWorld.make
    const near = simulatedRuntime(world)
    const own = yield* sockets
    const life = yield* Scope.make()
    const to = yield* served(near).pipe(Effect.provideService(PeerSockets, own), Scope.provide(life))
    const one = yield* distantRuntime(hostId, to).pipe(Effect.provideService(PeerSockets, own))
    const arrived = yield* Deferred.make<void>()
    world.intercept = () => Effect.andThen(Deferred.succeed(arrived, undefined), Effect.never)
    const asked = yield* Effect.forkChild(Effect.flip(one.stop("any", 1)))
    yield* Deferred.await(arrived)
    yield* Scope.close(life, Exit.void)
    expect(yield* Fiber.join(asked)).toMatchObject({ _tag: "RuntimeUnavailable" })
    expect(yield* Effect.flip(one.inventory)).toMatchObject({ _tag: "RuntimeUnavailable" })
    world.intercept = () => Effect.void
    yield* Effect.provideService(served(near, to.port), PeerSockets, own)
    yield* eventually(Effect.map(Effect.exit(one.inventory), Exit.isSuccess))
  }).pipe(Effect.scoped)
)

/** The names of the calls, and arbitrary answers. */
const Lies = RpcGroup.make(
  Rpc.make("Describe", { success: Schema.Unknown }),
  Rpc.make("Inventory", { payload: { hostId: Schema.String }, success: Schema.Unknown }),
  Rpc.make("Sample", {
    payload: { hostId: Schema.String, sandboxId: Schema.String, generation: Schema.Int },
    success: Schema.Unknown,
    error: Schema.Unknown
  }),
  Rpc.make("Downs", { payload: { hostId: Schema.String }, success: Schema.Unknown, stream: true })
)

it.live("an invalid message of a host is not believed, and costs it only that call", () =>
  Effect.gen(function* () {
    const own = yield* sockets
    const truth: unknown = describedBy(simulatedRuntime(yield* SimulatedWorld.make))
    const said: {
      describe: unknown
      inventory: unknown
      sample: unknown
      fault: unknown
      downs: ReadonlyArray<unknown>
    } = {
      describe: truth,
      inventory: [],
      sample: {},
      fault: null,
      downs: []
    }
    const doors = yield* Effect.provide(
      peerRpcServer(Lies),
      Lies.toLayer({
        Describe: () => Effect.sync(() => said.describe),
        Inventory: () => Effect.sync(() => said.inventory),
        Sample: () =>
          Effect.suspend(() => (said.fault === null ? Effect.succeed(said.sample) : Effect.fail(said.fault))),
        Downs: () => Stream.suspend(() => Stream.fromIterable(said.downs))
      })
    )
    const { port } = yield* own.listen({ host: "127.0.0.1", port: 0 }, { "atoll-host/1": doors })
    const to: PeerAddress = { host: "127.0.0.1", port }
    const connect = distantRuntime(hostId, to).pipe(Effect.provideService(PeerSockets, own))
    const one = yield* connect

    const entry = { sandboxId: "one", state: "running", generation: 1 }
    said.inventory = [entry]
    expect(yield* one.inventory).toEqual([entry])
    for (const lie of [
      null,
      { ...entry },
      [{ ...entry, sandboxId: "x".repeat(65) }],
      [{ ...entry, sandboxId: "one\n\u001b[2J" }],
      [{ ...entry, generation: -1 }],
      [{ ...entry, generation: 2 ** 31 }],
      [{ ...entry, generation: 0.5 }],
      [{ ...entry, state: "anything" }],
      Array.from({ length: 65_537 }, () => entry)
    ]) {
      said.inventory = lie
      expect(yield* Effect.flip(one.inventory)).toMatchObject({ _tag: "RuntimeUnavailable" })
    }
    said.inventory = [entry]
    expect(yield* one.inventory).toEqual([entry])

    const sample = { cpuSeconds: 1, memoryBytes: 1, volumeBytes: 1, networkRxBytes: 1, networkTxBytes: null }
    said.sample = sample
    expect(yield* one.sample("one", 1)).toEqual(sample)
    for (const lie of [{ cpuSeconds: -1 }, { cpuSeconds: 1e300 }, { memoryBytes: 2 ** 63 }, { networkRxBytes: "1" }]) {
      said.sample = { ...sample, ...lie }
      expect(yield* Effect.flip(one.sample("one", 1))).toMatchObject({ _tag: "RuntimeUnavailable" })
    }
    said.fault = { _tag: "RuntimeUnavailable", message: `\u001b[2J\u0000${"x".repeat(100_000)}` }
    const { message } = yield* Effect.flip(one.sample("one", 1))
    assert.isBelow(message.length, 2_000)
    assert.match(message, /^\ufffd\[2J\ufffdx+$/)
    said.fault = { _tag: "RuntimeRefused", code: "HOST_FULL", message: "Not of this call." }
    expect(yield* Effect.flip(one.sample("one", 1))).toMatchObject({ _tag: "RuntimeUnavailable" })

    // A host sends news without a request; a lie among them ends that stream, and the next one starts over.
    said.downs = [{ ...down("one", 1), reason: { code: "GONE", message: publicText`` } }]
    const { heard } = yield* listening(one.downs)
    said.downs = [down("one", 1)]
    yield* has(() => heard.length > 0)
    expect(heard[0]).toEqual(down("one", 1))

    for (const lie of [null, { ...(truth as HostDescription), capacity: { vcpus: "many" } }]) {
      said.describe = lie
      expect(yield* Effect.flip(connect)).toMatchObject({ _tag: "RuntimeUnavailable" })
    }
  }).pipe(Effect.scoped)
)
