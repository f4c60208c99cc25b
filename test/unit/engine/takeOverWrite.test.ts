/** The fenced takeover write: the owner is asked first; without an answer the change is committed here, and the owner does its commands. */
import { assert, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import type { ActorState } from "../../../src/engine/ActorDefinition.ts"
import { type Message, unawaited } from "../../../src/engine/Message.ts"
import type { Answer } from "../../../src/engine/OtherOwners.ts"
import { type TakeOver, takeOverWrite } from "../../../src/engine/takeOverWrite.ts"
import type { ActorCommit, CommitOutcome } from "../../../src/store/JournalRecord.ts"
import { actorStage, World } from "../../support/engine/ActorStage.ts"

/** @param answer The owner's. @param fences How many commits another owner fences, each with a commit before it. */
const writing = Effect.fnUntraced(function* (answer: Answer, fences = 0) {
  const { actors, definition } = yield* actorStage()
  const world = new World()
  const asked: Array<string> = []
  const carried: Array<Message> = []
  const committed: Array<ActorState> = []
  let left = fences
  world.outcome = (_, done) => {
    if (left-- <= 0) return done("committed")
    const { revision } = world.stored
    world.stored = {
      ...world.stored,
      revision: revision + 1,
      snapshot: { value: "open", context: { seen: [...world.seen, 100 + revision] } }
    }
    done("fenced")
  }
  const around = {
    journal: {
      load: () => Effect.sync(() => world.stored),
      commit: (record: ActorCommit, done: (outcome: CommitOutcome) => void) => world.commit(record, done)
    },
    clock: yield* Clock.Clock,
    fork: Effect.runFork,
    actors,
    others: {
      ask: (_: string, id: string) =>
        Effect.as(
          Effect.sync(() => asked.push(id)),
          answer
        ),
      carry: (_: unknown, __: string, message: Message) => Effect.sync(() => void carried.push(message))
    },
    committed: (state: ActorState) => void committed.push(state)
  } as unknown as TakeOver
  const state = yield* takeOverWrite(around, definition, "one", unawaited({ type: "NOTE", n: 1 }, "client"))
  return { world, asked, carried, committed, state }
})

it.live("an owner that answers decides alone", () =>
  Effect.gen(function* () {
    const answer = { id: "one", revision: 7 } as ActorState
    const { world, asked, state } = yield* writing(answer)
    assert.deepStrictEqual([asked, state, world.commits], [["one"], answer, []])
  }).pipe(Effect.scoped)
)

it.live("a change whose owner is silent is committed, told here, and its owner is woken for the commands", () =>
  Effect.gen(function* () {
    const { world, carried, committed, state } = yield* writing(null)
    assert.deepStrictEqual([world.seen, state?.revision], [[1], 2])
    assert.deepStrictEqual(
      committed.map(({ revision }) => revision),
      [2]
    )
    assert.deepStrictEqual(
      carried.map(({ event, revision }) => [event, revision]),
      [[null, 2]]
    )
  }).pipe(Effect.scoped)
)

it.live("a fenced change is decided again by what another owner committed, and is not told before", () =>
  Effect.gen(function* () {
    const { world, committed, state } = yield* writing(null, 2)
    assert.deepStrictEqual([world.seen, state?.revision], [[101, 102, 1], 4])
    assert.lengthOf(committed, 1)
  }).pipe(Effect.scoped)
)

it.live("after five fenced attempts nothing was changed, and the caller sends it like any other", () =>
  Effect.gen(function* () {
    const { world, committed, state } = yield* writing(null, 9)
    assert.isNull(state)
    assert.deepStrictEqual([world.commits.length, committed], [5, []])
  }).pipe(Effect.scoped)
)
