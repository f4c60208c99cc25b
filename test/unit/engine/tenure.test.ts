/**
 * A process that owns a shard again, without having noticed another owner meanwhile, decides nothing by what it
 * remembers from before.
 */
import { assert, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { setup } from "xstate"
import type { ActorState } from "../../../src/engine/ActorDefinition.ts"
import type { CommandRunner } from "../../../src/engine/CommandRunner.ts"
import { DeadlineTimers } from "../../../src/engine/DeadlineTimers.ts"
import { unawaited } from "../../../src/engine/Message.ts"
import { OwnActors } from "../../../src/engine/OwnActors.ts"
import { allShards } from "../../../src/engine/shards.ts"
import type { ActorCommit, ActorRow } from "../../../src/store/JournalRecord.ts"

const definition = {
  kind: "test",
  version: 1,
  machine: setup({}).createMachine({
    initial: "stopped",
    states: {
      stopped: { meta: { unchanged: ["STOP"] }, on: { START: "running" } },
      running: { meta: { unchanged: ["START"] }, on: { STOP: "stopped" } }
    }
  }),
  commands: {}
}

const rowOf = (revision: number, value: string): ActorRow => ({
  id: "one",
  kind: "test",
  accountId: "acc",
  sandboxId: "sbx",
  machineVersion: 1,
  revision,
  snapshot: { value, context: {} },
  pending: [],
  deadlines: {},
  changedAt: 0
})

const stage = Effect.gen(function* () {
  const world = { epoch: 1, stored: rowOf(1, "stopped") }
  const commits: Array<ActorCommit> = []
  const actors = new OwnActors(
    { mailboxMax: 10, passivateAfterMs: 3_600_000, ownerPatienceMs: 1000, passOnWithinMs: 60_000 },
    {
      journal: {
        load: () => Effect.suspend(() => Effect.as(Effect.yieldNow, world.stored)),
        commit: (record: ActorCommit, done: (outcome: "committed") => void) => {
          commits.push(record)
          done("committed")
        }
      } as never,
      sharding: { getShardId: () => allShards[0], hasShardId: () => true } as never,
      epochs: { of: () => world.epoch },
      clock: yield* Clock.Clock,
      timers: yield* DeadlineTimers.make(1000),
      fork: Effect.runFork,
      traced: null,
      commands: () => ({ start: () => {}, follow: () => {}, endAll: () => {} }) as unknown as CommandRunner,
      definitionOf: () => definition,
      committed: () => {},
      carry: () => {}
    }
  )
  const send = (type: string) =>
    Effect.callback<ActorState>((resume) =>
      actors.deliver(definition, "one", {
        ...unawaited({ type }, "wallet", { succeed: (state) => resume(Effect.succeed(state)) }),
        fail: (error) => resume(Effect.die(error)),
        die: (defect) => resume(Effect.die(defect))
      })
    )
  return { world, commits, actors, send }
})

it.live(
  "a process that owns a shard again stops what another owner has started, and does not take it for stopped",
  () =>
    Effect.gen(function* () {
      const { world, commits, actors, send } = yield* stage
      assert.strictEqual((yield* send("STOP")).revision, 1)
      assert.strictEqual(actors.peek("test", "one")?.value, "stopped")
      world.stored = rowOf(2, "running")
      world.epoch++
      assert.isNull(actors.peek("test", "one"))
      const state = yield* send("STOP")
      assert.deepStrictEqual([state.revision, state.value], [3, "stopped"])
      assert.deepStrictEqual(
        commits.map(({ revision }) => revision),
        [3]
      )
    }).pipe(Effect.scoped)
)

it.live("a message that waited for a read of an earlier epoch is decided by the present read", () =>
  Effect.gen(function* () {
    const { world, send } = yield* stage
    const stopping = yield* Effect.forkChild(send("STOP"), { startImmediately: true })
    world.stored = rowOf(2, "running")
    world.epoch++
    const state = yield* Fiber.join(stopping)
    assert.deepStrictEqual([state.revision, state.value], [3, "stopped"])
  }).pipe(Effect.scoped)
)
