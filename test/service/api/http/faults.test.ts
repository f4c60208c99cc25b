/** Faults of the service: what the caller reads, what the log says, and what neither may contain. */
import { randomUUID } from "node:crypto"
import { PgClient } from "@effect/sql-pg"
import { assert, it, layer } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Redacted, Schedule, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { inject } from "vitest"
import { isOverAFleet } from "../../../support/fleet/isOverAFleet.ts"
import { hang, hanging } from "../../../support/http/commands.ts"
import { TestApi } from "../../../support/http/TestApi.ts"
import { lines, linesWith, rememberAll } from "../../../support/serviceLog.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { testDatabaseUrl } from "../../../support/TestPostgres.ts"

const logged = TestApi.layer({ ATOLL_LOG_LEVEL: "debug" }).pipe(Layer.provide(rememberAll))

/** All log lines of a request, once the last of them is there. */
const linesOf = async (id: string) => {
  const found = await linesWith(id, (found) => found.some((line) => JSON.parse(line).message === "request"))
  return found.map((line) => JSON.parse(line))
}

const secretsIn = (text: string, key: string) =>
  [key, key.slice(0, 20), "Bearer", "authorization"].filter((secret) =>
    text.toLowerCase().includes(secret.toLowerCase())
  )

it.live("a stop answers the requests that it cuts short with the Error body", () =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const context = yield* Layer.buildWithScope(TestApi.layer(), scope)
    const { send, newWorkspace, newSandbox } = Context.get(context, TestApi)
    const waiting = yield* Effect.promise(async () => {
      const id = await newSandbox(await newWorkspace())
      const started = await send("POST", `/api/v2/sandboxes/${id}/operations`, {
        body: { argv: hang },
        headers: { "idempotency-key": "hang" }
      })
      const path = `/api/v2/sandboxes/${id}/operations/${started.json.operation.id}/wait`
      while ((await send("GET", path.replace("/wait", ""))).json.operation.status !== "running");
      return { answer: send("POST", path) }
    })
    yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 100)))
    yield* Effect.exit(Scope.close(scope, Exit.void))
    const { status, json } = yield* Effect.promise(() => waiting.answer)
    // A service's own listener ends waits with the present state; the server of this process cuts them.
    if (isOverAFleet) assert.deepStrictEqual([status, json.operation?.status], [200, "running"])
    else assert.deepStrictEqual([status, json.code, json.details], [503, "SERVICE_UNAVAILABLE", null])
  })
)

it.live(
  "a stop reports an unknown outcome for a change that it cuts short, and for no request that had not begun",
  () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(TestApi.layer(), scope)
      const { send, newWorkspace, newSandbox } = Context.get(context, TestApi)
      const cut = yield* Effect.promise(async () => {
        const id = await newSandbox(await newWorkspace())
        const path = `/api/v2/sandboxes/${id}/execute`
        // A request whose body does not end.
        const unread = send("POST", path, { body: "{", headers: { "content-length": "99" } })
        const begun = send("POST", path, { body: { argv: hang } })
        while (!(await send("GET", `/api/v2/sandboxes/${id}/processes`)).text.includes(JSON.stringify(hanging)));
        return { unread, begun }
      })
      yield* Effect.exit(Scope.close(scope, Exit.void))
      const begun = yield* Effect.promise(() => cut.begun)
      assert.deepStrictEqual(
        [begun.status, begun.json.code, begun.json.details, begun.headers["retry-after"]],
        [503, "SERVICE_UNAVAILABLE", { outcome: "unknown" }, "2"]
      )
      assert.notMatch(begun.json.message, /send the request again/i)
      const unread = yield* Effect.promise(() => cut.unread)
      assert.deepStrictEqual([unread.status, unread.json.details, unread.headers["retry-after"]], [503, null, "2"])
      assert.match(unread.json.message, /send the request again/i)
    })
)

layer(logged, { excludeTestServices: true })("faults", (it) => {
  it.effect(
    "a request's log line has its id, method, route template, status and duration, and nothing of its key or query",
    () =>
      Effect.gen(function* () {
        const { send, key, sourceIp } = yield* TestApi
        const id = randomUUID()
        yield* Effect.promise(() =>
          send("GET", "/api/v2/sandboxes?metadata.a=private", { headers: { "x-request-id": id } })
        )
        const [line] = yield* Effect.promise(() => linesOf(id))
        assert.deepInclude(line.annotations, {
          requestId: id,
          method: "GET",
          route: "/api/v2/sandboxes",
          status: 200,
          sourceIp
        })
        assert.isNumber(line.annotations.durationMs)
        assert.strictEqual(line.level, "DEBUG")
        const everything = lines.join("\n")
        assert.deepStrictEqual(secretsIn(everything, key), [])
        assert.notInclude(everything, "private")
      })
  )

  it.effect("a defect is 500 INTERNAL without its cause, which the log has under the request id", () =>
    Effect.gen(function* () {
      const { send, key } = yield* TestApi
      const sql = yield* SqlClient.SqlClient
      const id = randomUUID()
      yield* sql`alter table workspaces rename to hidden`
      const answer = yield* Effect.promise(() => send("GET", "/api/v2/workspaces", { headers: { "x-request-id": id } }))
      yield* sql`alter table hidden rename to workspaces`
      assert.deepStrictEqual(
        [answer.status, answer.json],
        [
          500,
          {
            code: "INTERNAL",
            message: "Something went wrong on our side. Try again; report it with the requestId.",
            requestId: id,
            details: null
          }
        ]
      )
      const errors = yield* Effect.promise(() => linesOf(id))
      const [defect] = errors.filter(({ level }) => level === "ERROR")
      assert.deepInclude(defect.annotations, { requestId: id, method: "GET", route: "/api/v2/workspaces" })
      assert.include(JSON.stringify(defect), "workspaces")
      assert.deepStrictEqual(secretsIn(JSON.stringify(defect), key), [])
      assert.strictEqual((yield* Effect.promise(() => send("GET", "/api/v2/workspaces"))).status, 200)
    })
  )

  it.effect("a model whose tool call hits a defect gets the same message", () =>
    Effect.gen(function* () {
      const { send, key } = yield* TestApi
      const sql = yield* SqlClient.SqlClient
      const requestId = randomUUID()
      const body = {
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name: "create_sandbox", arguments: { env: { TOKEN: "private" } } }
      }
      yield* sql`alter table workspaces rename to hidden`
      const answer = yield* Effect.promise(() => send("POST", "/mcp", { body, headers: { "x-request-id": requestId } }))
      yield* sql`alter table hidden rename to workspaces`
      const { isError, content, structuredContent } = answer.json.result
      assert.deepStrictEqual([answer.status, isError, structuredContent], [200, true, undefined])
      assert.deepStrictEqual(JSON.parse(content[0].text), {
        code: "INTERNAL",
        message: "Something went wrong on our side. Try again; report it with the requestId.",
        requestId,
        details: null
      })
      const told = yield* Effect.promise(() => linesOf(requestId))
      const [defect] = told.filter(({ level }) => level === "ERROR")
      assert.deepInclude(defect.annotations, { requestId, method: "POST", route: "/mcp" })
      const [request] = told.filter(({ message }) => message === "request")
      assert.deepInclude(request.annotations, { route: "/mcp", status: 200, errorCode: "INTERNAL" })
      assert.deepStrictEqual(secretsIn(JSON.stringify(told), key), [])
      assert.notInclude(JSON.stringify(told), "private")
    })
  )

  it.effect("without its database the service is unavailable to a load balancer, and recovers with it", () =>
    Effect.gen(function* () {
      const { send } = yield* TestApi
      const { name } = yield* TestDatabase
      const postgres = yield* Layer.build(
        PgClient.layer({
          url: Redacted.make(testDatabaseUrl(inject("testPostgresSocketFolder"), "postgres")),
          maxConnections: 1
        })
      )
      const admin = (statement: string) => Context.get(postgres, PgClient.PgClient).unsafe(statement)
      const health = () => Effect.promise(() => send("GET", "/healthz", { key: null }))
      const until = (status: number) =>
        Effect.repeat(health(), { schedule: Schedule.spaced(5), until: (answer) => answer.status === status }).pipe(
          Effect.timeout("60 seconds")
        )
      assert.strictEqual((yield* health()).status, 200)
      yield* admin(`alter database ${name} with allow_connections false`)
      yield* admin(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`)
      const down = yield* until(503)
      assert.deepInclude(down.json, { status: "unavailable", database: "unavailable" })
      const refused = yield* Effect.promise(() => send("GET", "/api/v2/workspaces"))
      assert.deepStrictEqual(
        [refused.status, refused.json.code, refused.headers["retry-after"]],
        [503, "SERVICE_UNAVAILABLE", "2"]
      )
      yield* admin(`alter database ${name} with allow_connections true`)
      yield* until(200)
      assert.strictEqual((yield* Effect.promise(() => send("GET", "/api/v2/workspaces"))).status, 200)
    })
  )
})
