/**
 * PATCH of a Sandbox over HTTP, and the variables of its commands: which commands get them, and which answers never
 * show them.
 */
import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { sandboxMachine } from "../../../../machines/sandbox.ts"
import { inputOf } from "../../../../machines/sandboxVersions.ts"
import { type Scope, scopes } from "../../../../schemas/Access.ts"
import { metadataMaxPairs, sandboxEnvMaxBytes, sandboxEnvMaxPairs } from "../../../../schemas/Limits.ts"
import { SandboxResponse } from "../../../../schemas/Sandbox.ts"
import type { AnyEvent } from "../../../../src/engine/ActorDefinition.ts"
import { replay } from "../../../../src/engine/Transition.ts"
import { textColumn } from "../../../../src/store/Columns.ts"
import { type Answer, type Ask, TestApi } from "../../../support/http/TestApi.ts"

const path = "/api/v2/sandboxes"
const auditPath = "/api/v2/usage/audit"
/** Variables that a real command has without any setting. */
const ofEveryCommand = new Set(
  "PATH HOME PWD OLDPWD SHLVL _ LANG USER LOGNAME SHELL TERM OMP_NUM_THREADS GOMAXPROCS PYTHON_CPU_COUNT".split(" ")
)

/** A new account with one running Sandbox. */
const newTenant = async (api: TestApi["Service"], body: object) => {
  const account = randomUUID()
  const key = (await api.newKey(scopes, account)).secret
  const workspaceId = await api.newWorkspace(key)
  const send = (method: string, target: string, ask: Ask = {}) => api.send(method, `${path}${target}`, { key, ...ask })
  const create = (body: object) =>
    send("POST", "?wait=running", { body: { workspaceId, ...body }, headers: { "idempotency-key": randomUUID() } })
  const made = await create(body)
  assert.strictEqual(made.status, 201, made.text)
  const { id } = made.json.sandbox
  const update = (body: unknown, ask: Ask = {}) => send("PATCH", `/${id}`, { body, ...ask })
  const get = async () => (await send("GET", `/${id}`)).json.sandbox
  /** The variables that a command of the Sandbox sees. */
  const seen = async (env: object = {}): Promise<Record<string, string>> => {
    const { json } = await send("POST", `/${id}/execute`, { body: { argv: ["env"], env } })
    return Object.fromEntries(
      json.result.stdout
        .trimEnd()
        .split("\n")
        .map((line: string) => line.split(/=(.*)/s).slice(0, 2))
        .filter(([name]: [string]) => name !== "" && !ofEveryCommand.has(name))
    )
  }
  return { account, id, made, send, create, update, get, seen }
}

const withTenant = <A>(
  test: (tenant: Awaited<ReturnType<typeof newTenant>>, api: TestApi["Service"]) => Promise<A>,
  body: object = {}
) => Effect.flatMap(TestApi, (api) => Effect.promise(async () => test(await newTenant(api, body), api)))

const issuesOf = ({ status, json }: Answer) => [
  status,
  json.details?.issues?.map(({ path }: { path: unknown }) => path)
]

layer(TestApi.layer(), { excludeTestServices: true })("a change of a Sandbox", (it) => {
  it.effect("gives its variables to commands and operations; a command's own variable takes precedence", () =>
    withTenant(
      async ({ seen, send, id }) => {
        assert.deepInclude(await seen({ A: "own" }), { A: "own", B: "2" })
        const { operation } = (
          await send("POST", `/${id}/operations`, {
            body: { argv: ["env"], env: { A: "own" } },
            headers: { "idempotency-key": randomUUID() }
          })
        ).json
        const wait = () => send("POST", `/${id}/operations/${operation.id}/wait`, { body: { timeoutSeconds: 5 } })
        while ((await wait()).json.operation.status !== "completed") {}
        const { json } = await send("GET", `/${id}/operations/${operation.id}/output?stream=stdout&offset=0`)
        const lines = Buffer.from(json.data, "base64").toString().split("\n")
        assert.includeMembers(lines, ["A=own", "B=2"])
      },
      { env: { A: "1", B: "2" } }
    )
  )

  it.effect("keeps absent fields, removes null ones, and merges metadata and variables by key", () =>
    withTenant(
      async ({ made, update, get, send, id }) => {
        assert.isTrue(Schema.is(SandboxResponse)(made.json), made.text)
        const { sandbox } = made.json
        assert.deepStrictEqual([sandbox.envNames, sandbox.lifetime.deleteAfterStoppedSeconds], [["A", "B"], 60])
        assert.deepStrictEqual((await update({})).json.sandbox, sandbox)

        const first = await update({
          name: "second",
          metadata: { kept: "k2", gone: null, added: "a" },
          env: { B: null, C: "3" },
          lifetime: { deleteAfterStoppedSeconds: null, stopAfterSeconds: 7200 }
        })
        assert.strictEqual(first.status, 200, first.text)
        assert.deepInclude(first.json.sandbox, {
          name: "second",
          metadata: { kept: "k2", added: "a" },
          envNames: ["A", "C"],
          status: "running",
          updatedAt: sandbox.updatedAt
        })
        assert.deepInclude(first.json.sandbox.lifetime, { deleteAfterStoppedSeconds: null, stopAfterSeconds: 7200 })
        assert.deepStrictEqual(await get(), first.json.sandbox)
        // Lists find it by its present values.
        const found = await send("GET", "?metadata.added=a")
        assert.deepStrictEqual(
          found.json.sandboxes.map((one: { id: string }) => one.id),
          [id]
        )
        assert.lengthOf((await send("GET", "?metadata.gone=g")).json.sandboxes, 0)

        const bare = (await update({ name: null, metadata: null, env: null, lifetime: null })).json.sandbox
        assert.deepInclude(bare, { name: null, metadata: {}, envNames: [] })
        assert.isTrue(Object.values(bare.lifetime).every((part) => part === null))
      },
      {
        name: "first",
        metadata: { kept: "k", gone: "g" },
        env: { A: "1", B: "2" },
        lifetime: { deleteAfterStoppedSeconds: 60 }
      }
    )
  )

  it.effect("loses none of several concurrent ones", () =>
    withTenant(async ({ update, get, seen }) => {
      const keys = Array.from({ length: 8 }, (_, at) => `K${at}`)
      const answers = await Promise.all(keys.map((key) => update({ metadata: { [key]: key }, env: { [key]: key } })))
      for (const { status, text } of answers) assert.strictEqual(status, 200, text)
      const all = Object.fromEntries(keys.map((key) => [key, key]))
      const { metadata, envNames } = await get()
      assert.deepStrictEqual([metadata, envNames], [all, keys])
      assert.deepStrictEqual(await seen(), all)
    })
  )

  it.effect("has the bounds of a create, applied to the result", () =>
    withTenant(async ({ update, create, send }) => {
      const pairs = (count: number, prefix = "k") =>
        Object.fromEntries(Array.from({ length: count }, (_, at) => [`${prefix}${at}`, "v"]))
      const bad: ReadonlyArray<readonly [object, ReadonlyArray<string>]> = [
        [{ name: "" }, ["name"]],
        [{ metadata: pairs(metadataMaxPairs + 1) }, ["metadata"]],
        [{ env: pairs(sandboxEnvMaxPairs + 1) }, ["env"]],
        [{ env: { "1A": "v" } }, ["env", "1A"]],
        [{ env: { "A B": "v" } }, ["env", "A B"]],
        [{ env: { "": "v" } }, ["env", ""]],
        [{ env: { A: "a\0b" } }, ["env", "A"]],
        [{ env: { A: 1 } }, ["env", "A"]],
        [{ env: { A: "é".repeat(sandboxEnvMaxBytes / 2) } }, ["env"]],
        [{ lifetime: { stopAfterSeconds: 0 } }, ["lifetime", "stopAfterSeconds"]],
        [{ lifetime: { stopAfterIdleSeconds: 1.5 } }, ["lifetime", "stopAfterIdleSeconds"]],
        [{ lifetime: { deleteAfterStoppedSeconds: -1 } }, ["lifetime", "deleteAfterStoppedSeconds"]],
        [{ lifetime: { stopAfter: 1 } }, ["lifetime", "stopAfter"]]
      ]
      for (const [body, at] of bad) {
        for (const answer of [await create(body), await update(body)]) {
          const [status, paths] = issuesOf(answer)
          assert.strictEqual(status, 400, JSON.stringify(body).slice(0, 100))
          assert.deepInclude(paths, at)
          assert.notInclude(answer.text, "a\\u0000b")
        }
      }
      assert.deepInclude(issuesOf(await update({ status: "stopped" }))[1], ["status"])
      const full = { metadata: pairs(metadataMaxPairs), env: pairs(sandboxEnvMaxPairs) }
      assert.strictEqual((await update(full)).status, 200)
      assert.deepStrictEqual(issuesOf(await update({ metadata: { more: "v" } })), [400, [["metadata"]]])
      assert.deepStrictEqual(issuesOf(await update({ env: { more: "v" } })), [400, [["env"]]])
      assert.strictEqual((await update({ metadata: { more: "v", k0: null } })).status, 200)
      assert.strictEqual((await send("PATCH", "/sbx_00000000000000000000000000", { body: {} })).status, 404)
    })
  )

  it.effect("is accepted in every state but deleted", () =>
    withTenant(async ({ id, send, update }) => {
      await send("POST", `/${id}/stop`)
      assert.strictEqual((await update({ name: "stopped", env: { A: "1" } })).json.sandbox.name, "stopped")
      await send("DELETE", `/${id}`)
      const { status, json } = await update({ name: "deleted" })
      assert.deepStrictEqual([status, json.code], [404, "NOT_FOUND"])
    })
  )

  it.effect("needs the scope of a create, and to schedule the deletion the scope of a deletion too", () =>
    withTenant(async ({ account, update }, api) => {
      const keyOf = async (...granted: ReadonlyArray<Scope>) => ({ key: (await api.newKey(granted, account)).secret })
      const others = await keyOf(...scopes.filter((scope) => scope !== "sandbox:create"))
      const refused = await update({ name: "x" }, others)
      assert.deepStrictEqual([refused.status, refused.json.details.scope], [403, "sandbox:create"])
      const creator = await keyOf("sandbox:create")
      assert.strictEqual((await update({ lifetime: { stopAfterSeconds: 60 } }, creator)).status, 200)
      const deleting = await update({ name: "y", lifetime: { deleteAfterStoppedSeconds: 0 } }, creator)
      assert.deepStrictEqual([deleting.status, deleting.json.details.scope], [403, "sandbox:delete"])
      assert.strictEqual((await update({ lifetime: { deleteAfterStoppedSeconds: null } }, creator)).status, 200)
    })
  )

  it.effect("gives variables to every later command, and a command's own take precedence by name", () =>
    withTenant(
      async ({ id, send, update, seen }) => {
        const operation = async () => {
          const started = await send("POST", `/${id}/operations`, {
            body: { argv: ["env"], env: { OWN: "own" } },
            headers: { "idempotency-key": randomUUID() }
          })
          const at = `/${id}/operations/${started.json.operation.id}`
          while ((await send("POST", `${at}/wait`)).json.operation.status !== "completed");
          const { data } = (await send("GET", `${at}/output?stream=stdout&offset=0`)).json
          const lines = Buffer.from(data, "base64")
            .toString()
            .split(/(?<=\n)/)
          return lines
            .filter((line) => !ofEveryCommand.has(line.split("=", 1)[0]!))
            .toSorted()
            .join("")
        }
        assert.deepStrictEqual(await seen(), { TOKEN: "one", EMPTY: "" })
        assert.deepStrictEqual(await seen({ TOKEN: "mine", MORE: "more" }), { EMPTY: "", MORE: "more", TOKEN: "mine" })
        assert.strictEqual(await operation(), "EMPTY=\nOWN=own\nTOKEN=one\n")
        await update({ env: { TOKEN: "two", EMPTY: null } })
        assert.deepStrictEqual(await seen(), { TOKEN: "two" })
        assert.strictEqual(await operation(), "OWN=own\nTOKEN=two\n")
        await send("POST", `/${id}/stop`)
        await send("POST", `/${id}/start?wait=running`)
        assert.deepStrictEqual(await seen(), { TOKEN: "two" })
      },
      { env: { TOKEN: "one", EMPTY: "" } }
    )
  )

  it.effect("hides the values of variables from every answer, log and database row; removed values are erased", () =>
    withTenant(
      async ({ id, send, update, seen, account }, api) => {
        assert.strictEqual((await seen())["SECRET"], "hidden-first")
        await update({ env: { OTHER: "hidden-second" } })
        const log = await send("GET", `/${id}/transitions`)
        const { context, status, revision } = log.json.stored
        assert.deepStrictEqual(context.env.names, ["OTHER", "SECRET"])
        // A fold of the log begins with the input of the creation.
        const steps = log.json.transitions.slice(1, revision).map(({ event }: { event: AnyEvent }) => event)
        assert.deepStrictEqual(replay(sandboxMachine, inputOf(context), steps), { value: status, context })
        assert.deepStrictEqual(inputOf(context).env?.names, ["SECRET"])
        await api.auditWritten()
        const reader = (await api.newKey(["usage:read"], account)).secret
        const audit = await api.send("GET", auditPath, { key: reader })
        assert.include(audit.text, "updateSandbox")
        for (const { text } of [log, audit, await send("GET", `/${id}`), await send("GET", "")]) {
          assert.notInclude(text, "hidden-")
        }
        return { id, remove: () => send("DELETE", `/${id}`) }
      },
      { env: { SECRET: "hidden-first" } }
    ).pipe(
      Effect.flatMap(({ id, remove }) =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const tables = yield* sql<{ readonly name: string }>`
            select tablename::text as name from pg_tables where schemaname = current_schema()`
          const holding = yield* Effect.filter(tables, ({ name }) =>
            Effect.map(
              sql.unsafe(`select 1 from "${name}" t where t::text like any($1::text[]) limit 1`, [
                textColumn(["hidden-", Buffer.from("hidden-").toString("hex")].map((text) => `%${text}%`))
              ]),
              (rows) => rows.length > 0
            )
          )
          // The command's output holds what it printed.
          assert.deepStrictEqual(holding, [{ name: "output_chunks" }].slice(0, holding.length))
          const kept = sql`select 1 from sandbox_envs where sandbox_id = ${id}`
          assert.lengthOf(yield* kept, 1, "what was replaced is gone")
          yield* Effect.promise(remove)
          yield* Effect.repeat(kept, { schedule: Schedule.spaced(5), until: (rows) => rows.length === 0 })
        })
      )
    )
  )
})
