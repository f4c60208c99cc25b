/**
 * The other processes take over the actors of a frozen or dead process in bounded time; a process that thaws learns of
 * it and goes on.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { probe } from "../../../src/host/namespace/probe.ts"
import type { ServiceProcess } from "../../support/crash/ServiceProcess.ts"
import { logErrors } from "../../support/logErrors.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { Members } from "./Members.ts"
import { visit } from "./visit.ts"

/** The lease, the others' check, their reading; and a busy machine. */
const takeoverWithinMs = 25_000

/** Closing: a moment for the owner, the commit, and the wait for a guest that only the owner calls. */
const closeWithinMs = 25_000

/** fetch ends a stream whose answer is garbage, at any time. */
const held: Array<Response> = []

/** Returns the status of a stream of events, which stays open until `over`. */
const streamAt = async ({ origin, key }: ServiceProcess, over: AbortSignal): Promise<number> => {
  const answer = await fetch(`${origin}/api/v2/events`, {
    headers: { authorization: `Bearer ${key}` },
    signal: over
  })
  held.push(answer)
  return answer.status
}

const withMembers = (
  count: number,
  test: (members: Members) => Promise<void>,
  environment: Readonly<Record<string, string>> = {}
) =>
  Effect.gen(function* () {
    const { url } = yield* TestDatabase
    yield* Effect.promise(async () => {
      const members = await Members.start(count, url, environment)
      try {
        await test(members)
      } finally {
        await members.end()
      }
    })
  }).pipe(Effect.provide(TestDatabase.bare))

const { ok } = await Effect.runPromise(probe)

describe.runIf(ok)("actors of a process that is gone", () => {
  it.live(
    "answer elsewhere when it is frozen, and it rejoins when it thaws",
    () =>
      withMembers(2, async (members) => {
        const [one, other] = members.all as [(typeof members.all)[0], (typeof members.all)[0]]
        await members.makeSandboxes(5)
        await members.everyActorAnswers(one, "before")
        one.freeze()
        const took = await members.everyActorAnswers(other, "frozen")
        assert.isBelow(took, takeoverWithinMs)
        await sleep(2000)
        const before = await members.starts(other)
        one.thaw()
        await members.everyActorAnswers(one, "thawed")
        await members.everyActorAnswers(other, "after")
        assert.deepStrictEqual(
          await members.starts(one),
          before.map((starts) => [...starts, "thawed", "after"])
        )
        assert.deepStrictEqual(logErrors(one.log), [])
      }),
    180_000
  )

  it.live(
    "close a preview through any process, even while their owner is frozen",
    () =>
      withMembers(2, async (members) => {
        const [one, other] = members.all as [(typeof members.all)[0], (typeof members.all)[0]]
        await members.makeSandboxes(4, true)
        const previews = await Promise.all(
          members.sandboxes.map(async (sandbox) => {
            const opened = await other.ask("POST", `/sandboxes/${sandbox}/previews`, { port: 8000 })
            assert.strictEqual(opened.status, 201, JSON.stringify(opened.body))
            return {
              path: `/sandboxes/${sandbox}/previews/${opened.body.preview.id}`,
              host: opened.body.preview.hostname
            }
          })
        )
        // Nothing listens in them, so they answer 502.
        for (const { host } of previews) assert.strictEqual(await visit(other.origin, host), 502)
        one.freeze()
        await Promise.all(
          previews.map(async ({ path, host }) => {
            const began = performance.now()
            const { status, body } = await other.ask("DELETE", path)
            assert.isBelow(performance.now() - began, closeWithinMs)
            if (status !== 204) assert.strictEqual(body.code, "CLEANUP_PENDING")
            assert.strictEqual(await visit(other.origin, host), 404)
          })
        )
        one.thaw()
        for (const { host } of previews) assert.strictEqual(await visit(one.origin, host), 404)
      }),
    180_000
  )

  it.live(
    "answer elsewhere when it is killed, and its account's slots are free",
    () =>
      withMembers(
        3,
        async (members) => {
          const [one, two, three] = members.all
          await members.makeSandboxes(5)
          const over = new AbortController()
          const streams = await Promise.all([one!, one!, two!].map((member) => streamAt(member, over.signal)))
          assert.deepStrictEqual(streams, [200, 200, 200])
          assert.strictEqual(await streamAt(three!, over.signal), 429)
          await one!.kill()
          const took = await members.everyActorAnswers(two!, "killed")
          assert.isBelow(took, takeoverWithinMs)
          for (let free = 2; free > 0; ) if ((await streamAt(three!, over.signal)) === 200) free--
          assert.strictEqual(await streamAt(two!, over.signal), 429)
          over.abort()
          await two!.kill()
          await members.everyActorAnswers(three!, "again")
          for (const starts of await members.starts(three!)) assert.deepStrictEqual(starts, ["killed", "again"])
        },
        { ATOLL_STREAMS_PER_ACCOUNT: "3" }
      ),
    180_000
  )
})
