/** Snapshots that a Sandbox takes by itself: durable deadlines of its machine, and its stops. */
import { assert, layer } from "@effect/vitest"
import { Clock, Effect, Schedule } from "effect"
import type { CreateSandboxRequest } from "../../../schemas/Sandbox.ts"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import { Snapshots } from "../../../src/snapshot/Snapshots.ts"
import { ShiftedClock } from "../../support/ShiftedClock.ts"
import { newAccount, testAtoll } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { start, untilStatus } from "../../support/TestSandboxes.ts"

const begin = Date.parse("2026-03-01T12:00:00.000Z")
const hourMs = 3_600_000
const instant = (ms: number) => new Date(ms).toISOString()
const asked = { requestId: "req_test" }
const looks = Schedule.spaced(5)

/** An account on a clock that stands still until a test moves it; each `life` is one run of the service, which ends as by a crash. */
const stage = (environment: Readonly<Record<string, string>> = {}) =>
  Effect.gen(function* () {
    const world = yield* SimulatedWorld.make
    const clock = new ShiftedClock()
    clock.frozenAt = begin
    const { accountId, workspaceId } = yield* newAccount
    const life = <A, E>(effect: Effect.Effect<A, E, Sandboxes | Snapshots>) =>
      effect.pipe(Effect.provide(testAtoll(world, environment)), Effect.provideService(Clock.Clock, clock))
    const get = (id: string) => Effect.flatMap(Sandboxes, (service) => service.get(accountId, id))
    const create = (checkpoints: CreateSandboxRequest["checkpoints"], more: object = {}) =>
      Effect.gen(function* () {
        const basis = { workspaceId, name: null, networkEnabled: false, metadata: {}, env: {}, lifetime: null }
        const { sandbox } = yield* (yield* Sandboxes).create({
          ...{ accountId, ...asked, idempotencyKey: "k", fingerprint: "f" },
          request: { ...basis, ...(checkpoints === undefined ? {} : { checkpoints }), ...more }
        })
        return yield* untilStatus(accountId, sandbox.id, "running")
      })
    /** Newest first, without those that are deleted. */
    const list = (sandboxId: string) =>
      Effect.flatMap(Snapshots, (service) =>
        service.list(accountId, { sandboxId, status: null, limit: 100, cursor: null })
      ).pipe(Effect.map(({ snapshots }) => snapshots.filter(({ status }) => status !== "deleted")))
    /** Waits until as many are kept, and all of them are ready. */
    const untilKept = (sandboxId: string, count: number, besides: ReadonlyArray<string> = []) =>
      Effect.repeat(list(sandboxId), {
        schedule: looks,
        until: (found) =>
          found.length === count && found.every(({ status, id }) => status === "ready" && !besides.includes(id))
      })
    const untilAnswered = (id: string, at: number) =>
      Effect.repeat(get(id), {
        schedule: looks,
        until: ({ lastCheckpoint }) =>
          lastCheckpoint?.at === instant(at) && (lastCheckpoint.snapshotId ?? lastCheckpoint.error) !== null
      })
    const stop = (id: string) => Effect.flatMap(Sandboxes, (service) => service.stop(accountId, id, asked))
    return { world, clock, accountId, ...{ life, get, create, list, untilKept, untilAnswered, stop } }
  })

layer(TestDatabase.layer, { excludeTestServices: true })("checkpoints", (it) => {
  it.effect("are taken at their time, once for all that a service missed, and the oldest beyond `keep` go", () =>
    Effect.gen(function* () {
      const { clock, accountId, life, get, create, untilKept, untilAnswered } = yield* stage()
      const { id, first } = yield* life(
        Effect.gen(function* () {
          const made = yield* create({ everySeconds: 3600, keep: 2 })
          assert.deepStrictEqual(made.checkpoints, {
            ...{ everySeconds: 3600, onStop: false, keep: 2 },
            nextAt: instant(begin + hourMs)
          })
          assert.isNull(made.lastCheckpoint)
          clock.frozenAt = begin + hourMs
          const [first] = yield* untilKept(made.id, 1)
          assert.deepInclude(first, { name: "checkpoint", checkpoint: true, expiresAt: null, sandboxRevision: 3 })
          const after = yield* untilAnswered(made.id, begin + hourMs)
          assert.deepStrictEqual(after.lastCheckpoint, {
            ...{ at: instant(begin + hourMs), snapshotId: first!.id, error: null }
          })
          assert.strictEqual(after.checkpoints?.nextAt, instant(begin + 2 * hourMs))
          assert.strictEqual(after.updatedAt, made.updatedAt)
          return { id: made.id, first: first!.id }
        })
      )
      // The service is away for three of them.
      clock.frozenAt = begin + 5.5 * hourMs
      const second = yield* life(
        Effect.gen(function* () {
          const [second] = yield* untilKept(id, 2)
          const { checkpoints } = yield* untilAnswered(id, begin + 5.5 * hourMs)
          assert.strictEqual(checkpoints?.nextAt, instant(begin + 6.5 * hourMs))
          return second!.id
        })
      )
      yield* life(
        Effect.gen(function* () {
          clock.frozenAt = begin + 6.5 * hourMs
          const [third] = yield* untilKept(id, 2, [first])
          // A name keeps it beyond the number.
          const service = yield* Snapshots
          yield* service.update(accountId, second, { ...asked, request: { name: "good" }, mayDelete: true })
          for (const hours of [7.5, 8.5]) {
            clock.frozenAt = begin + hours * hourMs
            yield* untilAnswered(id, clock.frozenAt)
          }
          const kept = yield* untilKept(id, 3, [third!.id])
          assert.strictEqual(kept[2]!.id, second)
          assert.deepInclude(kept[2], { name: "good", checkpoint: true })
          // Those that no client has changed go with the Sandbox.
          yield* (yield* Sandboxes).remove(accountId, id, asked)
          assert.deepStrictEqual(
            (yield* untilKept(id, 1)).map((one) => one.id),
            [second]
          )
          assert.strictEqual((yield* get(id)).status, "deleted")
        })
      )
    })
  )

  it.effect("of a Sandbox that stops are taken after its stop, once for each run", () =>
    Effect.gen(function* () {
      const { clock, accountId, life, get, create, list, untilKept, stop } = yield* stage()
      yield* life(
        Effect.gen(function* () {
          const { id } = yield* create({ everySeconds: 3600, onStop: true })
          yield* stop(id)
          const [taken] = yield* untilKept(id, 1)
          const { stoppedAt, checkpoints } = yield* get(id)
          assert.isAtLeast(Date.parse(taken!.createdAt), Date.parse(stoppedAt!))
          // It does not run, so there is nothing new.
          assert.isNull(checkpoints?.nextAt)
          yield* stop(id)
          clock.frozenAt = begin + 2 * hourMs
          yield* start(accountId, id)
          assert.lengthOf(yield* list(id), 1)
          assert.strictEqual((yield* get(id)).checkpoints?.nextAt, instant(begin + 3 * hourMs))
          yield* stop(id)
          yield* untilKept(id, 2)
        })
      )
    })
  )

  it.effect("fall due once for a Sandbox that was stopped before its time", () =>
    Effect.gen(function* () {
      const { clock, life, get, create, untilKept, stop } = yield* stage()
      yield* life(
        Effect.gen(function* () {
          const { id } = yield* create({ everySeconds: 60 })
          yield* stop(id)
          clock.frozenAt = begin + hourMs
          yield* untilKept(id, 1)
          assert.isNull((yield* get(id)).checkpoints?.nextAt)
        })
      )
    })
  )

  it.effect("that a limit refuses are passed over, which the Sandbox tells; the next one is tried at its time", () =>
    Effect.gen(function* () {
      const { clock, accountId, life, create, untilKept, untilAnswered } = yield* stage({
        ATOLL_SNAPSHOTS_PER_ACCOUNT: "1"
      })
      yield* life(
        Effect.gen(function* () {
          const { id } = yield* create({ everySeconds: 60, keep: 100 })
          clock.frozenAt = begin + 60_000
          const [only] = yield* untilKept(id, 1)
          yield* untilAnswered(id, begin + 60_000)
          clock.frozenAt = begin + 120_000
          const { lastCheckpoint, checkpoints } = yield* untilAnswered(id, begin + 120_000)
          assert.deepInclude(lastCheckpoint?.error, { code: "SNAPSHOT_LIMIT_REACHED" })
          assert.strictEqual(checkpoints?.nextAt, instant(begin + 180_000))
          yield* (yield* Snapshots).remove(accountId, only!.id, asked)
          clock.frozenAt = begin + 180_000
          yield* untilKept(id, 1, [only!.id])
        })
      )
    })
  )

  it.effect("change with a PATCH: parts stay, and null ends them", () =>
    Effect.gen(function* () {
      const { accountId, life, create, stop, untilKept } = yield* stage()
      yield* life(
        Effect.gen(function* () {
          const { id } = yield* create(undefined)
          const change = (checkpoints: CreateSandboxRequest["checkpoints"]) =>
            Effect.flatMap(Sandboxes, (service) =>
              service.update(accountId, id, {
                ...asked,
                request: { checkpoints: checkpoints ?? null },
                mayDelete: false
              })
            ).pipe(Effect.map(({ checkpoints }) => checkpoints))
          assert.deepStrictEqual(yield* change({ everySeconds: 60 }), {
            ...{ everySeconds: 60, onStop: false, keep: 5 },
            nextAt: instant(begin + 60_000)
          })
          assert.deepInclude(yield* change({ everySeconds: null, onStop: true, keep: 1 }), { nextAt: null, keep: 1 })
          assert.deepInclude(yield* change({ keep: 2 }), { onStop: true, keep: 2 })
          yield* stop(id)
          yield* untilKept(id, 1)
          assert.isNull(yield* change(null))
          assert.isNull(yield* change({ keep: 7 }))
        })
      )
    })
  )
})
