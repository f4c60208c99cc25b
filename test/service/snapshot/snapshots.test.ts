/** Snapshots over HTTP: their life, what they give to Sandboxes that are made of them, and who may do what. */
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { isOverAFleet } from "../../support/fleet/isOverAFleet.ts"
import { EventClient } from "../../support/http/EventClient.ts"
import { TestApi } from "../../support/http/TestApi.ts"
import { type SnapshotTenant, snapshotTenant } from "../../support/snapshot/SnapshotTenant.ts"

const withTenant = <A>(test: (tenant: SnapshotTenant, api: TestApi["Service"]) => Promise<A>) =>
  Effect.flatMap(TestApi, (api) => Effect.promise(async () => test(await snapshotTenant(api), api)))

/** The transitions of a log as `EVENT state`. */
const stepsOf = (json: { transitions: ReadonlyArray<{ event: { type: string }; to: string }> }) =>
  json.transitions.map(({ event, to }) => `${event.type} ${to}`)

describe.skipIf(isOverAFleet)("a snapshot", () => {
  layer(TestApi.layer({ ATOLL_VOLUME_BYTES: "1048576" }), { excludeTestServices: true })((it) => {
    it.effect("is creating, ready, and deleted with its image; its log and the events tell each step", () =>
      withTenant(async ({ send, take, running, untilIs, key }, api) => {
        const id = await running({ name: "source", metadata: { team: "blue" } })
        const events = new EventClient(api.port, `/api/v2/sandboxes/${id}/events`, { authorization: `Bearer ${key}` })
        await events.until(() => events.status === 200)
        const { status, json } = await take(id, { name: "first" })
        assert.strictEqual(status, 202)
        const { snapshot } = json
        assert.match(snapshot.id, /^snp_[0-9a-z]{26}$/)
        assert.deepInclude(snapshot, {
          sandboxId: id,
          status: "creating",
          name: "first",
          memory: false,
          sandboxRevision: 2,
          generation: 1,
          metadata: { team: "blue" },
          sizeBytes: null,
          readyAt: null
        })
        const ready = await untilIs("snapshot", snapshot.id, "ready")
        assert.deepInclude(ready, { sizeBytes: 4 * 1024 ** 2, storedBytes: 4 * 1024 ** 2, pausedMs: 1 })
        assert.isTrue(api.world.snapshots.has(snapshot.id))
        for (let repeat = 0; repeat < 2; repeat++) {
          const deleted = await send("DELETE", `/snapshots/${snapshot.id}`)
          assert.deepStrictEqual([deleted.status, deleted.text], [204, ""])
        }
        assert.isFalse(api.world.snapshots.has(snapshot.id))
        const log = await send("GET", `/snapshots/${snapshot.id}/transitions`)
        assert.deepStrictEqual(stepsOf(log.json), [
          "CREATED creating",
          "CAPTURED ready",
          "DELETE deleting",
          "IMAGE_GONE deleted"
        ])
        await events.until(() => events.transitions.some(({ data }) => data.event.type === "IMAGE_GONE"))
        const told = events.transitions.map(({ data }) => data).filter(({ kind }) => kind === "snapshot")
        assert.deepStrictEqual(stepsOf({ transitions: told }), stepsOf(log.json))
        assert.deepInclude(told[0], { actorId: snapshot.id, sandboxId: id, cause: "client" })
        events.close()
        const history = await send("GET", `/sandboxes/${id}/history`)
        assert.include(
          history.json.transitions.map(({ kind }: { kind: string }) => kind),
          "snapshot"
        )
      })
    )

    it.effect("is taken of a Sandbox that runs or is stopped, and refused with 409 otherwise", () =>
      withTenant(async ({ send, take, running, create }, api) => {
        const id = await running()
        assert.strictEqual((await take(id)).status, 202)
        await send("POST", `/sandboxes/${id}/stop`)
        assert.strictEqual((await take(id)).status, 202)
        let mayBoot = () => {}
        const held = new Promise<void>((resolve) => {
          mayBoot = resolve
        })
        api.world.intercept = (call) => (call === "provision" ? Effect.promise(() => held) : Effect.void)
        const pending = (await create()).json.sandbox.id
        const refused = await take(pending)
        mayBoot()
        api.world.intercept = () => Effect.void
        assert.deepStrictEqual(
          [refused.status, refused.json.code, refused.json.details],
          [409, "SANDBOX_NOT_CAPTURABLE", { status: "pending" }]
        )
        await send("DELETE", `/sandboxes/${id}`)
        assert.strictEqual((await take(id)).status, 404)
      })
    )

    it.effect(
      "gives the same one for a repeated key, 409 for another request with it, and each its own without a key",
      () =>
        withTenant(async ({ send, take, running }) => {
          const [id, other] = [await running(), await running()]
          const first = await take(id, { name: "one" }, "key")
          const again = await take(id, { name: "one" }, "key")
          assert.deepStrictEqual([again.status, again.json.snapshot.id], [202, first.json.snapshot.id])
          for (const answer of [await take(id, { name: "two" }, "key"), await take(other, { name: "one" }, "key")]) {
            assert.deepStrictEqual([answer.status, answer.json.code], [409, "IDEMPOTENCY_CONFLICT"])
          }
          const many = await Promise.all(Array.from({ length: 5 }, () => take(id, {}, "together")))
          assert.strictEqual(new Set(many.map(({ json }) => json.snapshot.id)).size, 1)
          const unnamed = [1, 2].map(() => send("POST", `/sandboxes/${id}/snapshots`))
          assert.strictEqual(new Set((await Promise.all(unnamed)).map(({ json }) => json.snapshot.id)).size, 2)
        })
    )

    it.effect("has memory where the runtime can save it: of a Sandbox that runs, for Sandboxes of the same sizes", () =>
      withTenant(async ({ take, running, send, create, untilIs }, api) => {
        api.world.keepsMemory = true
        try {
          const id = await running({ networkEnabled: false })
          const { status, json } = await take(id, { memory: true })
          assert.deepStrictEqual([status, json.snapshot.memory], [202, true])
          const { profile } = await untilIs("snapshot", json.snapshot.id, "ready")
          const of = { snapshotId: json.snapshot.id, networkEnabled: false }
          for (const [more, path] of [
            [{ ...of, profile: { vcpus: profile.vcpus + 1 } }, ["profile", "vcpus"]],
            [{ ...of, profile: { memoryBytes: profile.memoryBytes * 2 } }, ["profile", "memoryBytes"]],
            [{ ...of, networkEnabled: true }, ["networkEnabled"]]
          ] as const) {
            const refused = await create(more)
            assert.deepStrictEqual([refused.status, refused.json.details?.issues[0].path], [400, path])
          }
          await untilIs("sandbox", (await create(of)).json.sandbox.id, "running")
          await send("POST", `/sandboxes/${id}/stop`)
          await untilIs("sandbox", id, "stopped")
          const stopped = await take(id, { memory: true })
          assert.deepStrictEqual([stopped.status, stopped.json.code], [409, "SANDBOX_NOT_CAPTURABLE"])
          assert.strictEqual((await take(id)).status, 202)
        } finally {
          api.world.keepsMemory = false
        }
      })
    )

    it.effect("refuses memory with 422, an expiry in the past and a name without characters with 400", () =>
      withTenant(async ({ take, running }) => {
        const id = await running()
        const memory = await take(id, { memory: true })
        assert.deepStrictEqual([memory.status, memory.json.code], [422, "MEMORY_NOT_SUPPORTED"])
        for (const [body, path] of [
          [{ expiresAt: "2020-01-01T00:00:00Z" }, "expiresAt"],
          [{ expiresAt: "soon" }, "expiresAt"],
          [{ name: "" }, "name"]
        ] as const) {
          const { status, json } = await take(id, body)
          assert.deepStrictEqual([status, json.details?.issues[0].path], [400, [path]])
        }
      })
    )

    it.effect("changes its name and its expiry, and deletes itself when that has come", () =>
      withTenant(async ({ send, ready, running, untilIs, keyWith }) => {
        const id = await ready(await running(), { name: "one", expiresAt: "2126-01-01T00:00:00.000Z" })
        const patch = (body: object, ask = {}) => send("PATCH", `/snapshots/${id}`, { body, ...ask })
        const named = (await patch({ name: "two" })).json.snapshot
        assert.deepInclude(named, { name: "two", expiresAt: "2126-01-01T00:00:00.000Z", status: "ready" })
        assert.deepInclude((await patch({ expiresAt: null, name: null })).json.snapshot, {
          name: null,
          expiresAt: null
        })
        assert.deepInclude((await patch({})).json.snapshot, { name: null })
        assert.strictEqual((await patch({ expiresAt: "2020-01-01T00:00:00Z" })).status, 400)
        const creator = await keyWith(["sandbox:create", "sandbox:read"])
        assert.strictEqual((await patch({ name: "three" }, { key: creator })).status, 200)
        const refused = await patch({ expiresAt: "2126-01-01T00:00:00Z" }, { key: creator })
        assert.deepStrictEqual([refused.status, refused.json.details], [403, { scope: "sandbox:delete" }])
        const soon = new Date(Date.now() + 300).toISOString()
        assert.strictEqual((await patch({ expiresAt: soon })).json.snapshot.expiresAt, soon)
        const deleted = await untilIs("snapshot", id, "deleted")
        assert.isAtLeast(Date.parse(deleted.deletedAt), Date.parse(soon))
        assert.strictEqual((await patch({ name: "late" })).status, 404)
      })
    )

    it.effect("takes concurrent changes one after the other, and loses none", () =>
      withTenant(async ({ send, ready, running }) => {
        const id = await ready(await running())
        const bodies = [{ name: "two" }, { expiresAt: "2126-01-01T00:00:00.000Z" }, {}, { name: "two" }]
        const answers = await Promise.all(bodies.map((body) => send("PATCH", `/snapshots/${id}`, { body })))
        for (const { status } of answers) assert.strictEqual(status, 200)
        const { snapshot } = (await send("GET", `/snapshots/${id}`)).json
        assert.deepInclude(snapshot, { name: "two", expiresAt: "2126-01-01T00:00:00.000Z" })
      })
    )

    it.effect("is listed newest first, by Sandbox and status, in pages without gaps", () =>
      withTenant(async ({ send, ready, running }) => {
        const [one, other] = [await running(), await running()]
        const ids: Array<string> = []
        for (const sandbox of [one, other, one, one]) ids.unshift(await ready(sandbox))
        await send("DELETE", `/snapshots/${ids[1]}`)
        const listed = async (query: string) =>
          (await send("GET", `/snapshots${query}`)).json.snapshots.map(({ id }: { id: string }) => id)
        assert.deepStrictEqual(await listed(""), ids)
        assert.deepStrictEqual(await listed(`?sandboxId=${other}`), [ids[2]])
        assert.deepStrictEqual(await listed("?status=deleted"), [ids[1]])
        assert.deepStrictEqual(await listed(`?status=ready,deleted&sandboxId=${one}`), [ids[0], ids[1], ids[3]])
        const pages: Array<string> = []
        for (let cursor: string | null = ""; cursor !== null; ) {
          const { json } = await send("GET", `/snapshots?limit=1${cursor && `&cursor=${encodeURIComponent(cursor)}`}`)
          pages.push(...json.snapshots.map(({ id }: { id: string }) => id))
          cursor = json.nextCursor
        }
        assert.deepStrictEqual(pages, ids)
        const { nextCursor } = (await send("GET", "/snapshots?limit=1")).json
        const elsewhere = await send("GET", `/snapshots?limit=1&status=ready&cursor=${encodeURIComponent(nextCursor)}`)
        assert.deepStrictEqual([elsewhere.status, elsewhere.json.details.issues[0].path], [400, ["cursor"]])
      })
    )

    it.effect("outlives its Sandbox, also the record of it", () =>
      withTenant(async ({ send, ready, running, create, untilIs }, api) => {
        const id = await running({ env: { TOKEN: "secret" } })
        const snapshotId = await ready(id)
        await send("DELETE", `/sandboxes/${id}`)
        assert.strictEqual((await send("GET", `/snapshots/${snapshotId}`)).json.snapshot.status, "ready")
        const made = (await create({ snapshotId })).json.sandbox
        await untilIs("sandbox", made.id, "running")
        assert.strictEqual(api.world.origins.get(made.id), snapshotId)
        const { result } = (await send("POST", `/sandboxes/${made.id}/execute`, { body: { argv: ["env"] } })).json
        assert.include(result.stdout, "TOKEN=secret")
      })
    )

    it.effect("is the origin of Sandboxes only while it is ready, and only of its account", () =>
      withTenant(async ({ send, ready, running, create }, api) => {
        const source = await running()
        const snapshotId = await ready(source)
        const made = (await create({ snapshotId })).json.sandbox
        assert.deepInclude(made, { snapshotId, status: "pending", networkEnabled: true })
        assert.notStrictEqual(made.id, source)
        assert.isNull((await send("GET", `/sandboxes/${source}`)).json.sandbox.snapshotId)
        const other = await snapshotTenant(api)
        assert.strictEqual((await other.create({ snapshotId })).status, 404)
        const kind = await create({ snapshotId, runtime: "vm" })
        assert.deepStrictEqual([kind.status, kind.json.details.issues[0].path], [400, ["runtime"]])
        await send("DELETE", `/snapshots/${snapshotId}`)
        const late = await create({ snapshotId })
        assert.deepStrictEqual(
          [late.status, late.json.code, late.json.details],
          [409, "SNAPSHOT_NOT_READY", { status: "deleted" }]
        )
      })
    )

    it.effect("gives its variables to the Sandboxes that are made of it; given ones win by name", () =>
      withTenant(async ({ send, ready, running }) => {
        const source = await running({ env: { ONE: "1", TWO: "2" } })
        const snapshotId = await ready(source)
        await send("PATCH", `/sandboxes/${source}`, { body: { env: { ONE: "changed" } } })
        const id = await running({ snapshotId, env: { TWO: "given", THREE: "3" } })
        const { sandbox } = (await send("GET", `/sandboxes/${id}`)).json
        assert.deepStrictEqual(sandbox.envNames, ["ONE", "THREE", "TWO"])
        const { result } = (await send("POST", `/sandboxes/${id}/execute`, { body: { argv: ["env"] } })).json
        for (const line of ["ONE=1", "TWO=given", "THREE=3"]) assert.include(result.stdout, line)
      })
    )

    it.effect("is 404 for other accounts, and 403 for keys without the scope", () =>
      withTenant(async ({ send, ready, running, keyWith }, api) => {
        const source = await running()
        const snapshotId = await ready(source)
        const other = await snapshotTenant(api)
        const reader = await keyWith(["sandbox:read"])
        const blind = await keyWith(["usage:read"])
        for (const [method, path, scope, body] of [
          ["GET", `/snapshots/${snapshotId}`, "sandbox:read"],
          ["GET", `/snapshots/${snapshotId}/transitions`, "sandbox:read"],
          ["GET", `/sandboxes/${source}/lineage`, "sandbox:read"],
          ["PATCH", `/snapshots/${snapshotId}`, "sandbox:create", { name: "theirs" }],
          ["DELETE", `/snapshots/${snapshotId}`, "sandbox:delete"],
          ["POST", `/sandboxes/${source}/snapshots`, "sandbox:create", {}],
          ["POST", `/sandboxes/${source}/fork`, "sandbox:create", {}]
        ] as const) {
          const ask = { headers: { "idempotency-key": "k" }, ...(body === undefined ? {} : { body }) }
          assert.strictEqual((await other.send(method, path, ask)).status, 404, `${method} ${path}`)
          const { status, json } = await send(method, path, { ...ask, key: scope === "sandbox:read" ? blind : reader })
          assert.deepStrictEqual([status, json.details], [403, { scope }], `${method} ${path}`)
        }
        assert.deepStrictEqual((await other.send("GET", "/snapshots")).json.snapshots, [])
        assert.strictEqual((await send("GET", `/snapshots/${snapshotId}`)).json.snapshot.status, "ready")
      })
    )

    it.effect("has its calls in the audit log, with its id", () =>
      withTenant(async ({ send, ready, running }, api) => {
        const source = await running()
        const id = await ready(source)
        await send("PATCH", `/snapshots/${id}`, { body: { name: "x" } })
        await send("DELETE", `/snapshots/${id}`)
        await api.auditWritten()
        const { events } = (await send("GET", "/usage/audit")).json
        const of = (action: string) => events.find((event: { action: string }) => event.action === action)
        for (const action of ["createSnapshot", "updateSnapshot", "deleteSnapshot"]) {
          assert.deepInclude(of(action), { targetType: "snapshot", targetId: id }, action)
        }
      })
    )
  })
})
