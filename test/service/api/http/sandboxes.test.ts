/** Sandboxes over HTTP: shapes and bounds of requests, statuses, replays, filters, pages and ownership. */
import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { sandboxMachine } from "../../../../machines/sandbox.ts"
import { inputOf } from "../../../../machines/sandboxVersions.ts"
import { scopes } from "../../../../schemas/Access.ts"
import { metadataKeyMaxCharacters, metadataMaxPairs, metadataValueMaxCharacters } from "../../../../schemas/Limits.ts"
import { Sandbox, SandboxList, SandboxResponse } from "../../../../schemas/Sandbox.ts"
import { TransitionList } from "../../../../schemas/Transition.ts"
import type { AnyEvent } from "../../../../src/engine/ActorDefinition.ts"
import { replay } from "../../../../src/engine/Transition.ts"
import { isOverAFleet } from "../../../support/fleet/isOverAFleet.ts"
import { type Answer, type Ask, TestApi } from "../../../support/http/TestApi.ts"

const path = "/api/v2/sandboxes"

/** A new account with one workspace. */
const newTenant = async (api: TestApi["Service"]) => {
  const key = (await api.newKey(scopes, randomUUID())).secret
  const workspaceId = await api.newWorkspace(key)
  const send = (method: string, target: string, ask: Ask = {}) => api.send(method, `${path}${target}`, { key, ...ask })
  const create = (body: object, idempotencyKey: string = randomUUID()) =>
    send("POST", "", { body: { workspaceId, ...body }, headers: { "idempotency-key": idempotencyKey } })
  return { key, workspaceId, send, create, running: () => api.newSandbox(workspaceId, key) }
}

const withTenant = <A>(test: (tenant: Awaited<ReturnType<typeof newTenant>>, api: TestApi["Service"]) => Promise<A>) =>
  Effect.flatMap(TestApi, (api) => Effect.promise(async () => test(await newTenant(api), api)))

/** Idle hosts of a fleet send no report of their own accord. */
const withoutNetwork = (why: string) =>
  Effect.flatMap(TestApi, ({ freezeHosts, world }) =>
    Effect.acquireRelease(
      Effect.gen(function* () {
        if (!isOverAFleet) {
          world.networkRefused = why
          return
        }
        const sql = yield* SqlClient.SqlClient
        freezeHosts(true)
        // Their last report has arrived by then.
        yield* Effect.sleep("500 millis")
        yield* sql`update hosts set network_refused = ${why}`
      }),
      () =>
        Effect.gen(function* () {
          if (!isOverAFleet) {
            world.networkRefused = null
            return
          }
          const sql = yield* SqlClient.SqlClient
          freezeHosts(false)
          const refusing = sql`select 1 from hosts where network_refused is not null`
          while ((yield* Effect.orDie(refusing)).length > 0) yield* Effect.sleep("50 millis")
        })
    )
  )

const isResponse = Schema.is(SandboxResponse)

layer(TestApi.layer(), { excludeTestServices: true })("Sandboxes", (it) => {
  it.effect(
    "create answers 202 with a pending Sandbox; the same key recovers it, 201 once it runs, 409 with another body",
    () =>
      withTenant(async ({ create, send, workspaceId }) => {
        const body = { name: "one", metadata: { team: "blue" }, networkEnabled: false }
        const created = await create(body, "once")
        assert.strictEqual(created.status, 202)
        assert.isTrue(isResponse(created.json), created.text)
        const { sandbox } = created.json
        assert.deepInclude(sandbox, { ...body, workspaceId, status: "pending", generation: 1, deletedAt: null })
        await send("POST", `/${sandbox.id}/start`)
        const replayed = await create(body, "once")
        assert.deepStrictEqual(
          [replayed.status, replayed.json.sandbox.id, replayed.json.sandbox.status],
          [201, sandbox.id, "running"]
        )
        for (const other of [
          { ...body, name: "two" },
          { ...body, networkEnabled: true },
          { ...body, metadata: { more: "1" } }
        ]) {
          const conflict = await create(other, "once")
          assert.deepStrictEqual([conflict.status, conflict.json.code], [409, "IDEMPOTENCY_CONFLICT"])
        }
        const got = await send("GET", `/${sandbox.id}`)
        assert.isTrue(Schema.is(Sandbox)(got.json.sandbox), got.text)
      })
  )

  it.effect("absent and null fields are the same, and get the contract's defaults", () =>
    withTenant(async ({ create }) => {
      for (const body of [{}, { name: null, networkEnabled: null, metadata: null }]) {
        const { status, json } = await create(body)
        assert.strictEqual(status, 202)
        assert.deepInclude(json.sandbox, { networkEnabled: true, metadata: {} })
      }
    })
  )

  it.effect("each bound of a create is exact", () =>
    withTenant(async ({ create, send, workspaceId }) => {
      const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, "v"]))
      const good = [
        { name: "x".repeat(128) },
        { metadata: pairs(metadataMaxPairs) },
        { metadata: { ["k".repeat(metadataKeyMaxCharacters)]: "v".repeat(metadataValueMaxCharacters) } },
        { metadata: { __proto__x: "", "": undefined, constructor: "c", "a.b=c": "😀" } }
      ]
      for (const body of good) {
        const answer = await create(body)
        assert.strictEqual(answer.status, 202, answer.text)
        if ("metadata" in body) {
          assert.deepStrictEqual(answer.json.sandbox.metadata, JSON.parse(JSON.stringify(body.metadata)))
        }
        await send("DELETE", `/${answer.json.sandbox.id}`)
      }
      const bad: ReadonlyArray<readonly [object, ReadonlyArray<string>]> = [
        [{ name: "" }, ["name"]],
        [{ name: "x".repeat(129) }, ["name"]],
        [{ name: 1 }, ["name"]],
        [{ networkEnabled: "true" }, ["networkEnabled"]],
        [{ metadata: pairs(metadataMaxPairs + 1) }, ["metadata"]],
        [{ metadata: { "": "v" } }, ["metadata", ""]],
        [
          { metadata: { ["k".repeat(metadataKeyMaxCharacters + 1)]: "v" } },
          ["metadata", "k".repeat(metadataKeyMaxCharacters + 1)]
        ],
        [{ metadata: { k: "v".repeat(metadataValueMaxCharacters + 1) } }, ["metadata", "k"]],
        [{ metadata: { k: 1 } }, ["metadata", "k"]],
        [{ metadata: [] }, ["metadata"]],
        [{ workspaceId: null }, ["workspaceId"]]
      ]
      for (const [body, at] of bad) {
        const answer = await create(body)
        assert.strictEqual(answer.status, 400, JSON.stringify(body))
        assert.deepInclude(
          answer.json.details.issues.map((issue: { path: unknown }) => issue.path),
          at
        )
      }
      const keyless = await send("POST", "", { body: { workspaceId, runtime: "vm" } })
      assert.deepStrictEqual([keyless.status, keyless.json.details.issues[0].path], [400, ["Idempotency-Key"]])
    })
  )

  it.effect("an unknown workspace, or another account's, is 404", () =>
    withTenant(async ({ create }, api) => {
      const other = await newTenant(api)
      for (const workspaceId of [other.workspaceId, "wsp_00000000000000000000000000", "x"]) {
        const answer = await create({ workspaceId })
        assert.deepStrictEqual([answer.status, answer.json.code], [404, "NOT_FOUND"], workspaceId)
      }
    })
  )

  it.effect("other accounts neither see nor touch a Sandbox, and get the same 404 as for one that does not exist", () =>
    withTenant(async ({ running }, api) => {
      const other = await newTenant(api)
      const ids = [await running(), "sbx_00000000000000000000000000"]
      const seen = new Set<string>()
      for (const id of ids) {
        for (const [method, call, body] of [
          ["GET", "", undefined],
          ["DELETE", "", undefined],
          ["POST", "/start", undefined],
          ["POST", "/stop", undefined],
          ["GET", "/transitions", undefined],
          ["POST", "/execute", { argv: ["true"] }],
          ["POST", "/operations", { argv: ["true"] }],
          ["GET", "/operations", undefined],
          ["GET", "/operations/op_00000000000000000000000000000000", undefined],
          ["POST", "/operations/op_00000000000000000000000000000000/cancel", undefined]
        ] as const) {
          const answer = await other.send(method, `/${id}${call}`, {
            ...(body === undefined ? {} : { body }),
            headers: { "idempotency-key": randomUUID() }
          })
          assert.strictEqual(answer.status, 404, `${method} ${call}`)
          seen.add(JSON.stringify({ ...answer.json, requestId: null }))
        }
      }
      assert.strictEqual(seen.size, 1)
    })
  )

  it.effect(
    "start, stop and delete answer with the state they reach; a deleted Sandbox can be read, but not changed",
    () =>
      withTenant(async ({ send, running }) => {
        const id = await running()
        const start = await send("POST", `/${id}/start`, { headers: { "idempotency-key": "s" } })
        assert.deepStrictEqual(
          [start.status, start.json.sandbox.status, start.json.sandbox.generation],
          [201, "running", 1]
        )
        const stopped = await send("POST", `/${id}/stop`, { body: {} })
        assert.deepStrictEqual([stopped.status, stopped.json.sandbox.status], [200, "stopped"])
        const refused = await send("POST", `/${id}/execute`, { body: { argv: ["true"] } })
        assert.deepStrictEqual(
          [refused.status, refused.json.code, refused.json.details],
          [502, "SANDBOX_UNAVAILABLE", { status: "stopped" }]
        )
        const again = await send("POST", `/${id}/start`, { headers: { "idempotency-key": "t" } })
        assert.deepStrictEqual(
          [again.status, again.json.sandbox.status, again.json.sandbox.generation],
          [201, "running", 2]
        )
        for (let repeat = 0; repeat < 2; repeat++) {
          const deleted = await send("DELETE", `/${id}`)
          assert.deepStrictEqual([deleted.status, deleted.text], [204, ""])
        }
        const got = await send("GET", `/${id}`)
        assert.deepStrictEqual([got.status, got.json.sandbox.status], [200, "deleted"])
        for (const call of ["start", "stop"]) assert.strictEqual((await send("POST", `/${id}/${call}`)).status, 404)
        assert.strictEqual((await send("POST", `/${id}/execute`, { body: { argv: ["true"] } })).status, 404)
      })
  )

  it.effect("a start's key belongs to its Sandbox: the same key starts another Sandbox, and each of them once", () =>
    withTenant(async ({ send, running }) => {
      const ids = [await running(), await running()]
      const start = async (id: string) => {
        const { status, json } = await send("POST", `/${id}/start`, { headers: { "idempotency-key": "shared" } })
        return [status, json.sandbox.status, json.sandbox.generation]
      }
      for (const id of ids) await send("POST", `/${id}/stop`)
      for (const id of ids) assert.deepStrictEqual(await start(id), [201, "running", 2])
      for (const id of ids) await send("POST", `/${id}/stop`)
      for (const id of ids) assert.deepStrictEqual(await start(id), [201, "stopped", 2])
    })
  )

  it.effect("the transition log is paged from the first revision on, and lists the events that may come next", () =>
    withTenant(async ({ send, running }) => {
      const id = await running()
      const all = await send("GET", `/${id}/transitions`)
      assert.strictEqual(all.status, 200)
      assert.isTrue(Schema.is(TransitionList)(all.json), all.text)
      assert.deepStrictEqual(
        all.json.transitions.map((step: { revision: number }) => step.revision),
        all.json.transitions.map((_: unknown, at: number) => at + 1)
      )
      assert.includeMembers(all.json.nextEvents, ["STOP", "DELETE"])
      const { context, status, revision } = all.json.stored
      const events = all.json.transitions.slice(1, revision).map(({ event }: { event: AnyEvent }) => event)
      const folded = replay(sandboxMachine, inputOf(context), events)
      assert.deepStrictEqual(folded, { value: status, context })
      assert.deepStrictEqual(
        all.json.transitions
          .map(({ event, requestId }: { event: AnyEvent; requestId: string | null }) => [
            event.type,
            requestId !== null
          ])
          .slice(0, 2),
        [
          ["CREATED", true],
          ["RUNTIME_UP", false]
        ]
      )
      const pages: Array<unknown> = []
      for (let cursor: string | null = ""; cursor !== null; ) {
        const page: Answer = await send(
          "GET",
          `/${id}/transitions?limit=1${cursor && `&cursor=${encodeURIComponent(cursor)}`}`
        )
        pages.push(...page.json.transitions)
        cursor = page.json.nextCursor
      }
      assert.deepStrictEqual(pages, all.json.transitions)
      const wrong = await send("GET", `/${id}/transitions?cursor=nonsense`)
      assert.deepStrictEqual([wrong.status, wrong.json.details.issues[0].path], [400, ["cursor"]])
    })
  )

  it.effect("the list is newest first, filtered by status, workspace and metadata, and paged without gaps", () =>
    withTenant(async ({ create, send, workspaceId, key }, api) => {
      const otherWorkspace = await api.newWorkspace(key)
      const made: Array<string> = []
      for (let at = 0; at < 5; at++) {
        const body = {
          metadata: { even: String(at % 2 === 0), at: String(at) },
          ...(at === 4 ? { workspaceId: otherWorkspace } : {})
        }
        made.unshift((await create(body)).json.sandbox.id)
      }
      await send("DELETE", `/${made[0]}`)
      const ids = async (query: string) => {
        const { json, text } = await send("GET", query)
        assert.isTrue(Schema.is(SandboxList)(json), text)
        return json.sandboxes.map(({ id }: Sandbox) => id)
      }
      assert.deepStrictEqual(await ids(""), made)
      assert.deepStrictEqual(await ids("?status=deleted"), [made[0]])
      assert.deepStrictEqual(await ids(`?workspaceId=${workspaceId}`), made.slice(1))
      assert.deepStrictEqual(await ids("?workspaceId=unknown"), [])
      assert.deepStrictEqual(await ids("?metadata.even=true"), [made[0], made[2], made[4]])
      assert.deepStrictEqual(await ids("?metadata.even=true&metadata.at=2"), [made[2]])
      assert.deepStrictEqual(await ids("?metadata.even=maybe"), [])
      const pages: Array<string> = []
      for (let cursor: string | null = ""; cursor !== null; ) {
        const page: Answer = await send("GET", `?limit=2${cursor && `&cursor=${encodeURIComponent(cursor)}`}`)
        pages.push(...page.json.sandboxes.map(({ id }: Sandbox) => id))
        cursor = page.json.nextCursor
      }
      assert.deepStrictEqual(pages, made)
      const wrong = await send("GET", "?cursor=nonsense")
      assert.deepStrictEqual([wrong.status, wrong.json.details.issues[0].path], [400, ["cursor"]])
    })
  )

  it.effect("a server without network for Sandboxes refuses one with network immediately, and says what to send", () =>
    Effect.gen(function* () {
      yield* withoutNetwork("missing on this host: apt-get install slirp4netns")
      yield* withTenant(async ({ create }) => {
        const { status, json } = await create({})
        assert.deepStrictEqual([status, json.code], [501, "UNSUPPORTED_BY_RUNTIME"])
        // What the host lacks is the operator's to know.
        assert.include(json.message, "its host lacks what they need (atoll doctor tells the operator)")
        assert.include(json.message, "Send networkEnabled false.")
        assert.notInclude(json.message, "slirp4netns")
        assert.strictEqual((await create({ networkEnabled: false })).status, 202)
      })
    })
  )

  it.effect(
    "a create for another runtime is refused immediately and stores nothing; one for the server's own is accepted",
    () =>
      withTenant(async ({ create }) => {
        const { status, json } = await create({ runtime: "vm" }, "of a kind")
        assert.deepStrictEqual([status, json.code], [501, "UNSUPPORTED_BY_RUNTIME"])
        const made = await create({ runtime: "namespace" }, "of a kind")
        assert.deepStrictEqual([made.status, made.json.sandbox.runtime], [202, "namespace"])
        assert.strictEqual((await create({ runtime: null })).status, 202)
        assert.strictEqual((await create({ runtime: "container" })).status, 400)
      })
  )

  it.effect("the account's limit is 429, also for concurrent creates", () =>
    withTenant(async ({ create }) => {
      const answers = await Promise.all(Array.from({ length: 26 }, () => create({})))
      const refused = answers.filter(({ status }) => status === 429)
      assert.deepStrictEqual(
        [answers.filter(({ status }) => status === 202).length, refused.length],
        [20, 6],
        answers.map(({ status }) => status).join()
      )
      for (const { json } of refused) assert.strictEqual(json.code, "SANDBOX_LIMIT_REACHED")
    })
  )
})
