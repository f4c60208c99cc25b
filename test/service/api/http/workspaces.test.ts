/** Workspaces: bounds, replays, the quota under concurrency and over two processes, and the separation of accounts. */
import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { scopes } from "../../../../schemas/Access.ts"
import { nameMaxCharacters, workspacesPerAccount } from "../../../../schemas/Limits.ts"
import { Workspace } from "../../../../schemas/Workspace.ts"
import { sendTo, TestApi } from "../../../support/http/TestApi.ts"

const withApi = <A>(test: (api: TestApi["Service"]) => Promise<A>) =>
  Effect.flatMap(TestApi, (api) => Effect.promise(() => test(api)))

const path = "/api/v2/workspaces"

/** Another account for each test. */
const account = async ({ newKey }: TestApi["Service"]) => (await newKey(scopes, randomUUID())).secret

const volumeBytes = 64 * 1024 ** 2
const settings = { ATOLL_WORKSPACE_STORAGE_BYTES: "8589934592", ATOLL_VOLUME_BYTES: String(volumeBytes) }

layer(TestApi.layer(settings), { excludeTestServices: true })("workspaces", (it) => {
  it.effect("a workspace is created empty, listed newest first, and counts its Sandboxes and their volumes", () =>
    withApi(async (api) => {
      const key = await account(api)
      const create = (name: string) =>
        api.send("POST", path, { key, body: { name }, headers: { "idempotency-key": randomUUID() } })
      const first = await create("first")
      assert.strictEqual(first.status, 201)
      assert.isTrue(Schema.is(Workspace)(first.json.workspace), first.text)
      const { id, ...rest } = first.json.workspace
      assert.match(id, /^wsp_[0-9a-hjkmnp-tv-z]{26}$/)
      assert.deepStrictEqual(
        { ...rest, createdAt: null },
        { name: "first", createdAt: null, sandboxCount: 0, storageBytes: 0, storageLimitBytes: 8589934592 }
      )
      const second = await create("second")
      await api.newSandbox(id, key)
      const listed = await api.send("GET", path, { key })
      assert.deepStrictEqual(
        listed.json.workspaces.map((found: Workspace) => [found.id, found.sandboxCount, found.storageBytes]),
        [
          [second.json.workspace.id, 0, 0],
          [id, 1, volumeBytes]
        ]
      )
    })
  )

  it.effect("a name has 1 to 128 characters of any kind", () =>
    withApi(async (api) => {
      const key = await account(api)
      const create = async (name: unknown) =>
        (await api.send("POST", path, { key, body: { name }, headers: { "idempotency-key": randomUUID() } })).status
      assert.strictEqual(await create("x"), 201)
      assert.strictEqual(await create("x".repeat(nameMaxCharacters)), 201)
      assert.strictEqual(await create("😀".repeat(nameMaxCharacters)), 201)
      for (const name of [
        "",
        "x".repeat(nameMaxCharacters + 1),
        "😀".repeat(nameMaxCharacters + 1),
        "a\0b",
        "\ud800",
        1,
        null,
        ["x"],
        {},
        undefined
      ]) {
        assert.strictEqual(await create(name), 400, JSON.stringify(name))
      }
    })
  )

  it.effect("an Idempotency-Key is required, 1 to 255 printable ASCII characters", () =>
    withApi(async (api) => {
      const key = await account(api)
      const create = (headers: Record<string, string>) => api.send("POST", path, { key, body: { name: "x" }, headers })
      for (const good of ["a", "~ ! 1", "x".repeat(255)]) {
        assert.strictEqual((await create({ "idempotency-key": good })).status, 201, good)
      }
      const missing = await create({})
      assert.deepStrictEqual([missing.status, missing.json.details.issues[0].path], [400, ["Idempotency-Key"]])
      for (const bad of ["", "x".repeat(256), "tab\t1", "é"]) {
        assert.strictEqual((await create({ "idempotency-key": bad })).status, 400, bad)
      }
    })
  )

  it.effect(
    "a repeated key replays the original answer; with another body it is a conflict; another account has its own keys",
    () =>
      withApi(async (api) => {
        const [key, other] = [await account(api), await account(api)]
        const create = (body: unknown, as = key) =>
          api.send("POST", path, { key: as, body, headers: { "idempotency-key": "once" } })
        const first = await create({ name: "a" })
        const again = await create('{\n "name": "\\u0061" }')
        assert.deepStrictEqual([again.status, again.json], [201, first.json])
        for (const body of [{ name: "b" }, { name: "a " }]) {
          const conflict = await create(body)
          assert.deepStrictEqual([conflict.status, conflict.json.code], [409, "IDEMPOTENCY_CONFLICT"])
        }
        const theirs = await create({ name: "b" }, other)
        assert.strictEqual(theirs.status, 201)
        assert.notStrictEqual(theirs.json.workspace.id, first.json.workspace.id)
        assert.strictEqual((await api.send("GET", path, { key })).json.workspaces.length, 1)
      })
  )

  it.effect("concurrent creates with one key, over two processes, make one workspace and one answer", () =>
    withApi(async (api) => {
      const key = await account(api)
      const processes = [sendTo(api.port, key), sendTo(api.second.port, key)]
      const answers = await Promise.all(
        Array.from({ length: 16 }, (_, at) =>
          processes[at % 2]!("POST", path, { body: { name: "x" }, headers: { "idempotency-key": "same" } })
        )
      )
      assert.deepStrictEqual(new Set(answers.map(({ status }) => status)), new Set([201]))
      assert.strictEqual(new Set(answers.map(({ text }) => text)).size, 1)
      assert.strictEqual((await api.send("GET", path, { key })).json.workspaces.length, 1)
    })
  )

  it.effect(
    "the quota holds for concurrent creates over two processes; a replay still answers, and a refused key is free",
    () =>
      withApi(async (api) => {
        const key = await account(api)
        const processes = [sendTo(api.port, key), sendTo(api.second.port, key)]
        const create = (name: string, at: number) =>
          processes[at % 2]!("POST", path, { body: { name }, headers: { "idempotency-key": name } })
        const answers = await Promise.all(
          Array.from({ length: workspacesPerAccount + 8 }, (_, at) => create(`w${at}`, at))
        )
        const made = answers.filter(({ status }) => status === 201)
        const refused = answers.filter(({ status }) => status === 409)
        assert.deepStrictEqual([made.length, refused.length], [workspacesPerAccount, 8])
        for (const { json } of refused) {
          assert.deepStrictEqual(
            [json.code, json.details],
            ["WORKSPACE_QUOTA_EXCEEDED", { limit: workspacesPerAccount }]
          )
        }
        assert.strictEqual((await api.send("GET", path, { key })).json.workspaces.length, workspacesPerAccount)
        const [one] = made
        const replay = await create(one!.json.workspace.name, 1)
        assert.deepStrictEqual([replay.status, replay.json], [201, one!.json])
        const freed = answers.findIndex(({ status }) => status === 409)
        const retried = await processes[0]!("POST", path, {
          body: { name: "another" },
          headers: { "idempotency-key": `w${freed}` }
        })
        assert.strictEqual(retried.json.code, "WORKSPACE_QUOTA_EXCEEDED")
      })
  )

  it.effect("only its account reads and renames a workspace; a read-only key can neither rename nor delete it", () =>
    withApi(async (api) => {
      const key = await account(api)
      const id = await api.newWorkspace(key)
      const at = `${path}/${id}`
      const [listed] = (await api.send("GET", path, { key })).json.workspaces
      assert.deepStrictEqual((await api.send("GET", at, { key })).json, { workspace: listed })
      const renamed = await api.send("PATCH", at, { key, body: { name: "<b>second</b>" } })
      assert.deepStrictEqual([renamed.status, renamed.json], [200, { workspace: { ...listed, name: "<b>second</b>" } }])
      assert.deepStrictEqual((await api.send("GET", at, { key })).json, renamed.json)
      for (const body of [{ name: "" }, { name: "x".repeat(nameMaxCharacters + 1) }, {}, { name: "x", id }]) {
        assert.strictEqual((await api.send("PATCH", at, { key, body })).status, 400, JSON.stringify(body))
      }
      const stranger = await account(api)
      const reader = (await api.newKey(["sandbox:read"])).secret
      for (const [method, body] of [["GET"], ["PATCH", { name: "mine" }], ["DELETE"]] as const) {
        assert.strictEqual((await api.send(method, at, { key: stranger, body })).status, 404, method)
        if (method !== "GET")
          assert.strictEqual((await api.send(method, at, { key: reader, body })).status, 403, method)
      }
      assert.deepStrictEqual((await api.send("GET", at, { key })).json, renamed.json)
    })
  )

  it.effect("only an empty workspace is deleted; that frees its quota, and its key still replays", () =>
    withApi(async (api) => {
      const key = await account(api)
      const create = () =>
        api.send("POST", path, { key, body: { name: "first" }, headers: { "idempotency-key": "first" } })
      const made = await create()
      const at = `${path}/${made.json.workspace.id}`
      const sandboxId = await api.newSandbox(made.json.workspace.id, key)
      const refused = await api.send("DELETE", at, { key })
      assert.deepStrictEqual(
        [refused.status, refused.json.code, refused.json.details],
        [409, "WORKSPACE_NOT_EMPTY", { sandboxCount: 1 }]
      )
      assert.strictEqual((await api.send("DELETE", `/api/v2/sandboxes/${sandboxId}`, { key })).status, 204)
      assert.strictEqual((await api.send("DELETE", at, { key })).status, 204)
      assert.deepStrictEqual((await api.send("GET", path, { key })).json.workspaces, [])
      for (const [method, body] of [["GET"], ["PATCH", { name: "x" }], ["DELETE"]] as const) {
        assert.strictEqual((await api.send(method, at, { key, body })).status, 404, method)
      }
      assert.deepStrictEqual((await create()).json, made.json)
      const { sandbox } = (await api.send("GET", `/api/v2/sandboxes/${sandboxId}`, { key })).json
      assert.deepStrictEqual([sandbox.status, sandbox.workspaceId], ["deleted", made.json.workspace.id])
    })
  )

  it.effect(
    "concurrent deletes and creates of Sandboxes, over two processes, leave no Sandbox without its workspace",
    () =>
      withApi(async (api) => {
        const key = await account(api)
        const processes = [sendTo(api.port, key), sendTo(api.second.port, key)]
        for (let round = 0; round < 8; round++) {
          const workspaceId = await api.newWorkspace(key)
          const [removed, ...created] = await Promise.all([
            processes[1]!("DELETE", `${path}/${workspaceId}`),
            ...[0, 1].map((at) =>
              processes[at]!("POST", "/api/v2/sandboxes", {
                body: { workspaceId },
                headers: { "idempotency-key": randomUUID() }
              })
            )
          ])
          const isGone = removed!.status === 204
          const made = created.filter(({ status }) => status === 202 || status === 201)
          assert.deepStrictEqual(
            [removed!.status, new Set(created.map(({ status }) => status < 300))],
            isGone ? [204, new Set([false])] : [409, new Set([true])]
          )
          await Promise.all(made.map(({ json }) => api.send("DELETE", `/api/v2/sandboxes/${json.sandbox.id}`, { key })))
        }
      })
  )
})
