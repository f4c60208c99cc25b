/** An actor takes its messages one at a time and in their order, also where a commit is fenced; and none of its deadlines is dropped. */
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { OwnerAway } from "../../../src/engine/ActorError.ts"
import { unawaited } from "../../../src/engine/Message.ts"
import type { CommitOutcome } from "../../../src/store/JournalRecord.ts"
import { actorStage, firstRow } from "../../support/engine/ActorStage.ts"
import { until } from "../../support/until.ts"

const forked = <A, E>(effect: Effect.Effect<A, E>) => Effect.forkChild(effect, { startImmediately: true })

/** Answers come from within the mailbox: what follows is outside of it. */
const settled = <A, E>(effect: Effect.Effect<A, E>) => Effect.tap(effect, () => Effect.sleep(0))

it.live("messages are decided in their order, each after the commit of the one before", () =>
  Effect.gen(function* () {
    const { world, note } = yield* actorStage()
    const held: Array<(outcome: CommitOutcome) => void> = []
    world.outcome = (_, done) => void held.push(done)
    const sent = yield* Effect.forEach([1, 2, 3, 4], (n) => forked(note(n)))
    for (let n = 1; n <= 4; n++) {
      assert.deepStrictEqual(world.told.at(-1) ?? 1, n)
      yield* until(
        Effect.sync(() => held.length),
        (length) => length > 0
      )
      assert.lengthOf(world.commits, n)
      held.shift()!("committed")
    }
    for (const fiber of sent) yield* Fiber.join(fiber)
    assert.deepStrictEqual(world.seen, [1, 2, 3, 4])
    assert.deepStrictEqual(
      world.commits.map(({ revision }) => revision),
      [2, 3, 4, 5]
    )
  }).pipe(Effect.scoped)
)

it.live("a fenced message is decided again by what was committed, before those that waited behind it", () =>
  Effect.gen(function* () {
    const { world, note } = yield* actorStage()
    let fence = () => {}
    world.outcome = (_, done) => {
      fence = () => {
        world.stored = { ...firstRow, revision: 2, snapshot: { value: "open", context: { seen: [100] } } }
        world.outcome = (_, next) => next("committed")
        done("fenced")
      }
    }
    const sent = yield* Effect.forEach([1, 2, 3], (n) => forked(note(n)))
    yield* until(
      Effect.sync(() => world.commits.length),
      (length) => length === 1
    )
    fence()
    for (const fiber of sent) yield* Fiber.join(fiber)
    assert.deepStrictEqual(world.seen, [100, 1, 2, 3])
  }).pipe(Effect.scoped)
)

it.live("a message that is fenced again and again is given up after its owner's patience", () =>
  Effect.gen(function* () {
    const { world, note } = yield* actorStage({ ownerPatienceMs: 50 })
    world.outcome = (_, done) => void setImmediate(() => done("fenced"))
    assert.instanceOf(yield* Effect.flip(note(1).pipe(Effect.timeout("5 seconds"))), OwnerAway)
  }).pipe(Effect.scoped)
)

it.live("messages behind a commit go to the next owner if the shard moved meanwhile", () =>
  Effect.gen(function* () {
    const { world, note } = yield* actorStage()
    let release = () => {}
    world.outcome = (_, done) => {
      release = () => done("committed")
    }
    const first = yield* forked(note(1))
    yield* forked(note(2))
    yield* until(
      Effect.sync(() => world.commits.length),
      (length) => length === 1
    )
    world.isOwner = false
    release()
    yield* Fiber.join(first)
    assert.deepStrictEqual([world.seen, world.carried.map(({ event }) => event?.["n"])], [[1], [2]])
  }).pipe(Effect.scoped)
)

it.live("a process that was frozen passes no message on, as the next owner has decided meanwhile", () =>
  Effect.gen(function* () {
    const { world, note } = yield* actorStage({ passOnWithinMs: 20 })
    let fence = () => {}
    world.outcome = (_, done) => {
      fence = () => done("fenced")
    }
    const sent = yield* Effect.forEach([1, 2], (n) => forked(Effect.flip(note(n).pipe(Effect.timeout("5 seconds")))))
    yield* until(
      Effect.sync(() => world.commits.length),
      (length) => length === 1
    )
    yield* Effect.sleep(40)
    world.isOwner = false
    fence()
    for (const fiber of sent) assert.instanceOf(yield* Fiber.join(fiber), OwnerAway)
    assert.deepStrictEqual(world.carried, [])
  }).pipe(Effect.scoped)
)

it.live("an owner decides on no older state than its sender has read", () =>
  Effect.gen(function* () {
    const { world, note } = yield* actorStage()
    yield* settled(note(1))
    world.stored = { ...world.stored, revision: 3, snapshot: { value: "open", context: { seen: [1, 2] } } }
    const state = yield* note(3, { revision: 3 })
    assert.deepStrictEqual([state.revision, world.seen], [4, [1, 2, 3]])
  }).pipe(Effect.scoped)
)

it.live("an owner whose read of its actor is older than its sender's reads it again", () =>
  Effect.gen(function* () {
    const { world, send } = yield* actorStage()
    const old = world.stored
    const answered = yield* Deferred.make<void>()
    world.load = Effect.as(Deferred.await(answered), old)
    const looking = yield* forked(send({ type: "LOOK" }, { revision: 2 }))
    const newer = { ...old, revision: 2, snapshot: { value: "open", context: { seen: [2] } } }
    world.load = Effect.succeed(newer)
    yield* Deferred.succeed(answered, undefined)
    assert.strictEqual((yield* Fiber.join(looking)).revision, 2)
  }).pipe(Effect.scoped)
)

it.live("an actor whose command runs stays in memory, and one without leaves", () =>
  Effect.gen(function* () {
    const { world, actors, note } = yield* actorStage({ passivateAfterMs: 0 })
    world.stored = { ...firstRow, pending: [{ key: "1.0", type: "work", params: null }] }
    yield* settled(note(1))
    actors.sweep()
    assert.strictEqual(actors.size, 1)
    const { actors: others, note: tell } = yield* actorStage({ passivateAfterMs: 0 })
    yield* settled(tell(1))
    others.sweep()
    assert.strictEqual(others.size, 0)
  }).pipe(Effect.scoped)
)

it.live("a command that is done is pending no more, with or without a transition", () =>
  Effect.gen(function* () {
    const { world, note, deliver } = yield* actorStage()
    const pending = ["1.0", "1.1", "1.2"].map((key) => ({ key, type: "work", params: null }))
    world.stored = { ...firstRow, pending }
    yield* settled(note(1, { done: "1.0" }))
    deliver(unawaited(null, "command", { done: "1.1" }))
    assert.deepStrictEqual(
      world.commits.map((commit) => [commit.revision, commit.pending?.map(({ key }) => key)]),
      [
        [2, ["1.1", "1.2"]],
        [2, ["1.2"]]
      ]
    )
  }).pipe(Effect.scoped)
)

it.live("the deadline of an actor that is not in memory wakes it", () =>
  Effect.gen(function* () {
    const { world, actors, definition } = yield* actorStage()
    const at = Date.now() + 20
    world.stored = { ...firstRow, deadlines: { alarm: { at, event: { type: "NOTE", n: 1 } } } }
    actors.expect("one", definition, 1, false, at)
    assert.strictEqual(actors.size, 0)
    yield* until(
      Effect.sync(() => world.seen),
      ({ length }) => length === 1
    )
  }).pipe(Effect.scoped)
)

it.live("each of two deadlines fires, and so does one that a commit has set", () =>
  Effect.gen(function* () {
    const { world, send } = yield* actorStage()
    const now = Date.now()
    const event = (n: number) => ({ type: "NOTE", n })
    world.stored = {
      ...firstRow,
      deadlines: { first: { at: now + 20, event: event(1) }, second: { at: now + 60, event: event(2) } }
    }
    yield* send({ type: "ALARM", when: now + 120, n: 3 })
    const seen = yield* until(
      Effect.sync(() => world.seen),
      ({ length }) => length === 3
    )
    assert.deepStrictEqual(seen, [1, 2, 3])
    assert.isAtLeast(Date.now(), now + 120)
  }).pipe(Effect.scoped)
)
