/** The commands of an actor begin and end with what is pending of it, and with its place in memory. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { setup } from "xstate"
import type { ActorDefinition } from "../../../src/engine/ActorDefinition.ts"
import { CommandRunner } from "../../../src/engine/CommandRunner.ts"
import { LiveActor } from "../../../src/engine/LiveActor.ts"
import type { Message } from "../../../src/engine/Message.ts"
import { allShards } from "../../../src/engine/shards.ts"
import { firstRow } from "../../support/engine/ActorStage.ts"
import { until } from "../../support/until.ts"

const machine = setup({}).createMachine({ id: "list", initial: "open", states: { open: {} } })

/** `work` runs until it is ended. */
const stage = () => {
  const seen: Array<string> = []
  const told: Array<Message> = []
  const definition: ActorDefinition = {
    kind: "list",
    version: 1,
    machine,
    commands: {
      work: {
        lane: null,
        run: ({ key }) =>
          Effect.suspend(() => {
            seen.push(`${key} begins`)
            return Effect.onInterrupt(Effect.never, () => Effect.sync(() => seen.push(`${key} ended`)))
          })
      }
    }
  }
  const actor = new LiveActor("one", definition, allShards[0]!, 1, 0)
  actor.become(firstRow)
  const runner = new CommandRunner(
    Effect.runFork,
    () => Effect.void,
    (_, message) => void told.push(message),
    false
  )
  const saw = (what: string) =>
    until(
      Effect.sync(() => seen.includes(what)),
      Boolean
    )
  return { seen, told, actor, runner, saw }
}

const work = (key: string) => ({ key, type: "work", params: null })

it.live("a command that is pending no more is ended, and one that still is runs on", () =>
  Effect.gen(function* () {
    const { seen, told, actor, runner, saw } = stage()
    runner.follow(actor, [], [work("1.0"), work("1.1")], null)
    yield* saw("1.1 begins")
    runner.follow(actor, [work("1.1")], [], null)
    yield* saw("1.0 ended")
    assert.deepStrictEqual([...actor.running.keys()], ["1.1"])
    assert.deepStrictEqual(seen, ["1.0 begins", "1.1 begins", "1.0 ended"])
    assert.isEmpty(told)
    runner.endAll(actor)
  })
)

it.live("a command runs once however often it is started, and ends when its actor leaves memory", () =>
  Effect.gen(function* () {
    const { seen, actor, runner, saw } = stage()
    runner.start(actor, work("1.0"), null)
    runner.start(actor, work("1.0"), null)
    yield* saw("1.0 begins")
    actor.dropped = true
    runner.endAll(actor)
    yield* saw("1.0 ended")
    runner.start(actor, work("1.1"), null)
    yield* Effect.sleep(0)
    assert.deepStrictEqual([seen, actor.running.size], [["1.0 begins", "1.0 ended"], 0])
  })
)
