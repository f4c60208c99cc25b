/**
 * `wait=running` on create and start: the answer comes once the Sandbox runs or cannot run any more, and never later
 * than the bound.
 */

import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, type Scope } from "effect"
import { runningWaitSeconds } from "../../../../schemas/Limits.ts"
import { publicText } from "../../../../schemas/PublicText.ts"
import { Hosts } from "../../../../src/fleet/Hosts.ts"
import { RuntimeRefused } from "../../../../src/runtime/Runtime.ts"
import { RunningWait } from "../../../../src/sandbox/RunningWait.ts"
import { isOverAFleet } from "../../../support/fleet/isOverAFleet.ts"
import { type Answer, type Ask, sendTo, TestApi } from "../../../support/http/TestApi.ts"

const path = "/api/v2/sandboxes"
/** Real Sandboxes boot at their own speed. */
const bootMs = isOverAFleet ? 5 : 300
/** Longer than any boot here on any machine; and for a service whose boots take longer than its bound. */
const boundMs = 60_000
const shortMs = isOverAFleet ? 1000 * runningWaitSeconds : 1000

/** Returns when every host of the fleet has that state. */
const askHosts = Effect.fnUntraced(function* (asked: "CORDON" | "UNCORDON", state: string) {
  const hosts = Context.get(yield* Layer.build(Hosts.layer), Hosts)
  for (const { id } of yield* hosts.list) yield* hosts.ask(id, asked)
  while ((yield* hosts.list).some((host) => host.state !== state)) yield* Effect.sleep("50 millis")
}, Effect.scoped)

/** No host of the fleet takes a Sandbox. */
const noRoom = Effect.acquireRelease(askHosts("CORDON", "cordoned"), () => askHosts("UNCORDON", "ready"))

/** No host of the fleet answers. */
const silence = Effect.flatMap(TestApi, ({ freezeHosts }) =>
  Effect.acquireRelease(
    Effect.sync(() => freezeHosts(true)),
    () => Effect.sync(() => freezeHosts(false))
  )
)

/** `during`: how every boot goes while the test runs; `fleet`: makes a fleet's boots go so. */
const withBoots = <A, R = never>(
  during: Effect.Effect<void, RuntimeRefused>,
  test: (tenant: {
    readonly create: (query: string, key?: string, body?: object) => Promise<Answer>
    readonly send: (method: string, target: string, ask?: Ask) => Promise<Answer>
    readonly api: TestApi["Service"]
  }) => Promise<A>,
  fleet?: Effect.Effect<unknown, never, R | Scope.Scope>
) =>
  Effect.gen(function* () {
    const api = yield* TestApi
    api.world.intercept = (call) => (call === "provision" ? during : Effect.void)
    const workspaceId = yield* Effect.promise(() => api.newWorkspace())
    if (isOverAFleet && fleet !== undefined) yield* fleet
    const send = (method: string, target: string, ask: Ask = {}) => api.send(method, `${path}${target}`, ask)
    const create = (query: string, key: string = randomUUID(), body: object = {}) =>
      send("POST", query, { body: { workspaceId, ...body }, headers: { "idempotency-key": key } })
    return yield* Effect.promise(async () => {
      try {
        return await test({ create, send, api })
      } finally {
        api.world.intercept = () => Effect.void
        for (const { id } of (await send("GET", "")).json.sandboxes) await send("DELETE", `/${id}`)
      }
    })
  })

const timed = async (answer: Promise<Answer>) => {
  const began = performance.now()
  const { status, json } = await answer
  return { status, json, tookMs: performance.now() - began }
}

const slowly = Effect.sleep(bootMs)

layer(TestApi.layer().pipe(Layer.provide(Layer.succeed(RunningWait, boundMs))), { excludeTestServices: true })(
  "wait=running",
  (it) => {
    it.effect("makes a create answer 201 with the running Sandbox once it runs, and a replay of it alike", () =>
      withBoots(slowly, async ({ create }) => {
        const made = await timed(create("?wait=running", "slow"))
        assert.deepStrictEqual([made.status, made.json.sandbox.status], [201, "running"])
        assert.isAtLeast(made.tookMs, bootMs - 5)
        assert.isBelow(made.tookMs, boundMs)
        for (const query of ["?wait=running", ""]) {
          const again = await create(query, "slow")
          assert.deepStrictEqual([again.status, again.json.sandbox], [201, made.json.sandbox])
        }
        const conflict = await create("?wait=running", "slow", { name: "other" })
        assert.deepStrictEqual([conflict.status, conflict.json.code], [409, "IDEMPOTENCY_CONFLICT"])
      })
    )

    it.effect("makes a replay wait for a create without it, also through another listener", () =>
      withBoots(slowly, async ({ create, api }) => {
        const first = await create("", "begun")
        assert.deepStrictEqual([first.status, first.json.sandbox.status], [202, "pending"])
        const { workspaceId, id } = first.json.sandbox
        const answers = await Promise.all([
          create("?wait=running", "begun"),
          sendTo(api.second.port, api.key)("POST", `${path}?wait=running`, {
            body: { workspaceId },
            headers: { "idempotency-key": "begun" }
          })
        ])
        for (const { status, json } of answers) {
          assert.deepStrictEqual([status, json.sandbox.id, json.sandbox.status], [201, id, "running"])
        }
      })
    )

    it.effect("answers immediately with the end of a Sandbox that ends during the wait", () =>
      withBoots(Effect.never, async ({ create, send }) => {
        for (const [method, call, status] of [
          ["POST", "/stop", "stopped"],
          ["DELETE", "", "delet"]
        ] as const) {
          const key = randomUUID()
          const { id } = (await create("", key)).json.sandbox
          const waiting = timed(create("?wait=running", key))
          await new Promise((resolve) => setTimeout(resolve, 100))
          await send(method, `/${id}${call}`)
          const answer = await waiting
          assert.strictEqual(answer.status, 201)
          assert.match(answer.json.sandbox.status, new RegExp(`^${status}`))
          assert.isBelow(answer.tookMs, boundMs)
        }
      })
    )

    it.effect("answers 429 when a limit refuses the boot, to the waiting create and to every replay", () =>
      withBoots(
        Effect.andThen(slowly, new RuntimeRefused({ code: "HOST_FULL", message: publicText`No room.` })),
        async ({ create }) => {
          for (const query of ["?wait=running", "?wait=running", ""]) {
            const { status, json } = await create(query, "full")
            assert.deepStrictEqual([status, json.code], [429, "SANDBOX_LIMIT_REACHED"])
            assert.match(json.message, isOverAFleet ? /^No host has room for the Sandbox now\. / : /^No room\.$/)
          }
        },
        noRoom
      )
    )

    it.effect(
      "makes a start wait for its boot, with a key and without, and a repeated start boots no second time",
      () =>
        withBoots(slowly, async ({ create, send }) => {
          const { id } = (await create("?wait=running")).json.sandbox
          await send("POST", `/${id}/stop`)
          const keyed = { headers: { "idempotency-key": "start" } }
          for (const ask of [{}, keyed, keyed]) {
            if (ask !== keyed) await send("POST", `/${id}/stop`)
            const { status, json } = await send("POST", `/${id}/start?wait=running`, ask)
            assert.deepStrictEqual([status, json.sandbox.status, json.sandbox.generation], [201, "running", 2])
          }
        })
    )

    it.effect("is refused for any other status than `running`", () =>
      withBoots(Effect.void, async ({ create, send }) => {
        const { id, workspaceId } = (await create("?wait=running")).json.sandbox
        for (const query of ["?wait=stopped", "?wait=", "?wait", "?wait=Running", "?wait=running&wait=running"]) {
          for (const { status, json } of [await create(query), await send("POST", `/${id}/start${query}`)]) {
            assert.deepStrictEqual(
              [status, json.code, json.details.issues[0].path[0]],
              [400, "INVALID_REQUEST", "wait"],
              query
            )
          }
        }
        assert.lengthOf((await send("GET", `?workspaceId=${workspaceId}`)).json.sandboxes, 1)
      })
    )

    it.effect("is in the description, with its bound", () =>
      withBoots(Effect.void, async ({ api }) => {
        const { paths } = (await api.send("GET", "/api/v2/openapi.json")).json
        for (const operation of [paths[path].post, paths[`${path}/{id}/start`].post]) {
          const parameter = operation.parameters.find(({ name }: { name: string }) => name === "wait")
          assert.deepInclude(parameter, { in: "query", required: false })
          assert.deepInclude(parameter.schema, { type: "string", enum: ["running"] })
          assert.include(JSON.stringify(parameter), `${runningWaitSeconds} s`)
          assert.include(operation.description, `${runningWaitSeconds} s`)
        }
      })
    )
  }
)

/** Longer than the wait. */
const patient = { ATOLL_BOOT_TIMEOUT_MS: "600000", ATOLL_HOST_LEASE_MS: "600000" }

layer(TestApi.layer(isOverAFleet ? patient : {}).pipe(Layer.provide(Layer.succeed(RunningWait, shortMs))), {
  excludeTestServices: true
})("wait=running, and its bound", (it) => {
  it.effect("a boot beyond the bound is answered at the bound: a create with 202, a start with 201, both pending", () =>
    withBoots(
      Effect.never,
      async ({ create, send }) => {
        const made = await timed(create("?wait=running"))
        assert.deepStrictEqual([made.status, made.json.sandbox.status], [202, "pending"])
        const starts = await Promise.all(
          [{}, { "idempotency-key": "s" }].map((headers) =>
            timed(send("POST", `/${made.json.sandbox.id}/start?wait=running`, { headers }))
          )
        )
        for (const { status, json } of starts) {
          assert.deepStrictEqual([status, json.sandbox.status], [201, "pending"])
        }
        for (const { tookMs } of [made, ...starts]) {
          assert.isAtLeast(tookMs, shortMs - 5)
          assert.isBelow(tookMs, shortMs + boundMs)
        }
      },
      silence
    )
  )
})
