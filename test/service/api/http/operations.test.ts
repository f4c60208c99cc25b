/** Commands and operations over HTTP: shapes and bounds of requests, statuses and answers. */
import { randomUUID } from "node:crypto"
import { isDeepStrictEqual } from "node:util"
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { ExecutionResult } from "../../../../schemas/Execute.ts"
import { argvMaxItems, declinedEventsMax, pathMaxCharacters } from "../../../../schemas/Limits.ts"
import { Operation, OperationList, OperationOutputChunk } from "../../../../schemas/Operation.ts"
import { ProcessList } from "../../../../schemas/Process.ts"
import { DeclinedEventList, TransitionList } from "../../../../schemas/Transition.ts"
import { isOverAFleet } from "../../../support/fleet/isOverAFleet.ts"
import { exit, hang, hanging } from "../../../support/http/commands.ts"
import { runningSandbox } from "../../../support/http/runningSandbox.ts"
import { type Answer, TestApi } from "../../../support/http/TestApi.ts"

const running = async (api: TestApi["Service"]) => {
  const { id, send } = await runningSandbox(api)
  const start = (body: object, idempotencyKey: string = randomUUID()) =>
    send("POST", "/operations", { body, headers: { "idempotency-key": idempotencyKey } })
  const wait = (operationId: string, body: object = { timeoutSeconds: 5 }) =>
    send("POST", `/operations/${operationId}/wait`, { body })
  return { id, send, start, wait }
}

const withSandbox = <A>(test: (sandbox: Awaited<ReturnType<typeof running>>, api: TestApi["Service"]) => Promise<A>) =>
  Effect.flatMap(TestApi, (api) => Effect.promise(async () => test(await running(api), api)))

const badCommands: ReadonlyArray<readonly [object, ReadonlyArray<string | number>]> = [
  [{}, ["argv"]],
  [{ argv: [] }, ["argv"]],
  [{ argv: [""] }, ["argv", 0]],
  [{ argv: "true" }, ["argv"]],
  [{ argv: ["a", "b\0"] }, ["argv", 1]],
  [{ argv: ["\udc00"] }, ["argv", 0]],
  [{ argv: Array.from({ length: argvMaxItems + 1 }, () => "x") }, ["argv"]],
  [{ argv: ["true"], cwd: "/tmp" }, ["cwd"]],
  [{ argv: ["true"], cwd: "/workspace/../etc" }, ["cwd"]],
  [{ argv: ["true"], cwd: "/workspace/" }, ["cwd"]],
  [{ argv: ["true"], cwd: "/workspacex" }, ["cwd"]],
  [{ argv: ["true"], cwd: "/workspace/a\0" }, ["cwd"]],
  [{ argv: ["true"], cwd: `/workspace/${"x".repeat(pathMaxCharacters - 10)}` }, ["cwd"]],
  [{ argv: ["true"], env: { "A=B": "" } }, ["env", "A=B"]],
  [{ argv: ["true"], env: { "": "" } }, ["env", ""]],
  [{ argv: ["true"], env: { A: "\0" } }, ["env", "A"]],
  [{ argv: ["true"], env: [] }, ["env"]],
  [{ argv: ["true"], stdin: 1 }, ["stdin"]],
  [{ argv: ["true"], stdin: "not base64!", encoding: "base64" }, ["stdin"]],
  [{ argv: ["true"], encoding: "utf16" }, ["encoding"]],
  [{ argv: ["true"], timeoutSeconds: 0 }, ["timeoutSeconds"]],
  [{ argv: ["true"], timeoutSeconds: "5" }, ["timeoutSeconds"]]
]

layer(TestApi.layer(), { excludeTestServices: true })("commands", (it) => {
  it.effect("execute answers with the command's result", () =>
    withSandbox(async ({ send }) => {
      const run = (body: object) => send("POST", "/execute", { body })
      const echoed = await run({ argv: ["echo", "hello", "wörld"] })
      assert.strictEqual(echoed.status, 200)
      assert.isTrue(Schema.is(ExecutionResult)(echoed.json.result), echoed.text)
      assert.deepInclude(echoed.json.result, {
        exitCode: 0,
        signal: null,
        stdout: "hello wörld\n",
        stderr: "",
        encoding: "utf8"
      })
      assert.strictEqual((await run({ argv: exit(3) })).json.result.exitCode, 3)
      assert.strictEqual((await run({ argv: ["nothing"] })).json.result.exitCode, 127)
      const bytes = Buffer.from([0, 255, 10])
      const cat = await run({ argv: ["cat"], stdin: bytes.toString("base64"), encoding: "base64" })
      assert.deepInclude(cat.json.result, { stdout: bytes.toString("base64"), encoding: "base64" })
      assert.strictEqual(
        (await run({ argv: ["cat"], stdin: "a\0b", cwd: null, env: null, encoding: null })).json.result.stdout,
        "a\0b"
      )
    })
  )

  it.effect("a command that exceeds its time-out is 408, with its output so far", () =>
    withSandbox(async ({ send }) => {
      const answer = await send("POST", "/execute", { body: { argv: hang, timeoutSeconds: 1 } })
      assert.deepStrictEqual([answer.status, answer.json.code], [408, "EXECUTION_TIMEOUT"])
      assert.strictEqual(answer.json.details.stdout, "hanging\n")
    })
  )

  it.effect("a time-out with a fraction becomes a whole number of milliseconds in each deadline", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const operationId = yield* withSandbox(async ({ send, start, wait }) => {
        const executed = await send("POST", "/execute", { body: { argv: ["echo"], timeoutSeconds: 60.001 } })
        assert.strictEqual(executed.status, 200, executed.text)
        const { operation } = (await start({ argv: ["echo"], timeoutSeconds: 1.0005 })).json
        const waited = await wait(operation.id, { timeoutSeconds: 4.9999 })
        assert.notStrictEqual(waited.json.operation.status, "queued")
        return operation.id as string
      })
      const [row] = yield* sql<{ readonly timeout: string }>`
        select snapshot -> 'context' ->> 'timeoutMs' as timeout from actors where id = ${operationId}`
      assert.strictEqual(row!.timeout, "1001")
    })
  )

  it.effect("each bound of a command is exact, for execute and for operations", () =>
    withSandbox(async ({ send, start }) => {
      const most = { argv: ["true", ...Array.from({ length: argvMaxItems - 1 }, () => "x")], timeoutSeconds: 300 }
      assert.strictEqual((await send("POST", "/execute", { body: most })).status, 200)
      assert.strictEqual((await start({ ...most, timeoutSeconds: 86_400 })).status, 202)
      const tooLong = [
        ["/execute", 301],
        ["/operations", 86_401]
      ] as const
      for (const [call, timeoutSeconds] of tooLong) {
        for (const [body, at] of [...badCommands, [{ argv: ["true"], timeoutSeconds }, ["timeoutSeconds"]] as const]) {
          const answer = await send("POST", call, { body, headers: { "idempotency-key": randomUUID() } })
          assert.strictEqual(answer.status, 400, `${call} ${JSON.stringify(body).slice(0, 100)}`)
          assert.deepInclude(
            answer.json.details.issues.map((issue: { path: unknown }) => issue.path),
            at,
            answer.text
          )
        }
      }
    })
  )
})

layer(TestApi.layer(), { excludeTestServices: true })("processes", (it) => {
  it.effect("are listed with their fields, and DELETE ends the process with that id", () =>
    withSandbox(async ({ id, send, start, wait }, api) => {
      const operation = (await start({ argv: hang })).json.operation
      const list = async () => (await send("GET", "/processes")).json
      let listed = await list()
      const isThere = () =>
        listed.processes.some(({ argv }: { argv: ReadonlyArray<string> }) => isDeepStrictEqual(argv, hanging))
      while (!isThere()) listed = await list()
      assert.isTrue(Schema.is(ProcessList)(listed), JSON.stringify(listed))
      const [process] = listed.processes
      assert.deepInclude(process, {
        argv: hanging,
        state: "sleeping",
        user: "sandbox",
        startedBy: "operation",
        operationId: operation.id
      })
      const ended = await send("DELETE", `/processes/${process.id}?graceSeconds=0`)
      assert.deepStrictEqual([ended.status, ended.text], [204, ""])
      let last = (await wait(operation.id)).json.operation
      // The process exists before the operation learns that it runs; that change ends a wait, too.
      while (last.status === "queued" || last.status === "running") last = (await wait(operation.id)).json.operation
      // Without a grace period; simulated processes know one signal.
      assert.deepInclude(last, { status: "completed", signal: isOverAFleet ? "SIGKILL" : "SIGTERM" })
      assert.deepStrictEqual((await list()).processes, [])
      assert.strictEqual((await send("DELETE", `/processes/${process.id}`)).status, 404)
      for (const bad of ["1", "0-1", "1-x", "1-1-1"]) {
        assert.strictEqual((await send("DELETE", `/processes/${bad}`)).json.code, "NOT_FOUND", bad)
      }
      assert.strictEqual((await send("DELETE", `/processes/${process.id}?graceSeconds=61`)).status, 400)
      await api.send("POST", `/api/v2/sandboxes/${id}/stop`)
      assert.deepStrictEqual(
        [(await send("GET", "/processes")).json.code, (await send("DELETE", "/processes/5-5")).json.code],
        ["SANDBOX_UNAVAILABLE", "SANDBOX_UNAVAILABLE"]
      )
    })
  )
})

layer(TestApi.layer(), { excludeTestServices: true })("operations", (it) => {
  it.effect("an operation is accepted with 202, completes, and its output is read by offset", () =>
    withSandbox(async ({ send, start, wait, id }) => {
      const started = await start({ argv: ["echo", "hello"] })
      assert.strictEqual(started.status, 202)
      const { operation } = started.json
      assert.isTrue(Schema.is(Operation)(operation), started.text)
      assert.deepInclude(operation, { sandboxId: id, argv: ["echo", "hello"], cwd: "/workspace" })
      let last = operation
      while (last.status === "queued" || last.status === "running") last = (await wait(operation.id)).json.operation
      assert.deepInclude(last, { status: "completed", exitCode: 0, signal: null, reason: null })
      const got = await send("GET", `/operations/${operation.id}`)
      assert.deepStrictEqual([got.status, got.json.operation], [200, last])
      const read = (query: string) => send("GET", `/operations/${operation.id}/output?${query}`)
      const whole = await read("stream=stdout&offset=0")
      assert.isTrue(Schema.is(OperationOutputChunk)(whole.json), whole.text)
      assert.deepInclude(whole.json, { stream: "stdout", offset: 0, nextOffset: 6, truncated: false, eof: true })
      assert.strictEqual(Buffer.from(whole.json.data, "base64").toString(), "hello\n")
      assert.deepInclude((await read("stream=stdout&offset=1&limit=2")).json, {
        offset: 1,
        nextOffset: 3,
        eof: false,
        data: "ZWw="
      })
      assert.deepInclude((await read("stream=stdout&offset=9007199254740991")).json, {
        offset: 9007199254740991,
        data: ""
      })
      assert.strictEqual((await read("stream=stdout&offset=0&limit=262144")).status, 200)
      for (const query of [
        "",
        "stream=stdout",
        "offset=0",
        "stream=both&offset=0",
        "stream=stdout&offset=-1",
        "stream=stdout&offset=9007199254740992",
        "stream=stdout&offset=0&limit=0",
        "stream=stdout&offset=0&limit=262145"
      ]) {
        assert.strictEqual((await read(query)).status, 400, query)
      }
    })
  )

  it.effect("an operation whose command fails is completed with its exit code", () =>
    withSandbox(async ({ start, wait }) => {
      for (const [argv, exitCode] of [
        [exit(3), 3],
        [["nothing"], 127]
      ] as const) {
        let { operation } = (await start({ argv })).json
        while (operation.finishedAt === null) operation = (await wait(operation.id)).json.operation
        assert.deepInclude(operation, { status: "completed", exitCode, signal: null, reason: null })
      }
    })
  )

  it.effect("output that was read to its present end reports eof only once the operation has ended", () =>
    withSandbox(async ({ send, start, wait }) => {
      const { operation } = (await start({ argv: hang })).json
      while ((await wait(operation.id, { stdoutOffset: 0 })).json.operation.output.stdoutBytes < 8) {}
      const rest = () => send("GET", `/operations/${operation.id}/output?stream=stdout&offset=8`)
      assert.deepInclude((await rest()).json, { offset: 8, nextOffset: 8, data: "", eof: false })
      await send("POST", `/operations/${operation.id}/cancel`)
      while ((await send("GET", `/operations/${operation.id}`)).json.operation.processTree === "running") {}
      assert.deepInclude((await rest()).json, { offset: 8, nextOffset: 8, data: "", eof: true })
    })
  )

  it.effect("the key is required; repeated it recovers the operation, with another body it is a conflict", () =>
    withSandbox(async ({ send, start }) => {
      assert.strictEqual((await send("POST", "/operations", { body: { argv: ["true"] } })).status, 400)
      const key = randomUUID()
      const [first, ...others] = await Promise.all(Array.from({ length: 8 }, () => start({ argv: hang }, key)))
      assert.deepStrictEqual(new Set([first!, ...others].map(({ status }) => status)), new Set([202]))
      assert.deepStrictEqual(new Set(others.map(({ json }) => json.operation.id)), new Set([first!.json.operation.id]))
      const conflict = await start({ argv: [...hang, "on"] }, key)
      assert.deepStrictEqual([conflict.status, conflict.json.code], [409, "IDEMPOTENCY_CONFLICT"])
    })
  )

  it.effect("cancel ends an operation once; repeated, or after completion, the result stands", () =>
    withSandbox(async ({ send, start, wait }) => {
      const { operation } = (await start({ argv: hang })).json
      const cancel = (operationId: string) => send("POST", `/operations/${operationId}/cancel`)
      const cancelled = await cancel(operation.id)
      assert.deepStrictEqual([cancelled.status, cancelled.json.operation.status], [200, "cancelled"])
      assert.deepInclude(cancelled.json.operation, { exitCode: null, signal: null, reason: null })
      const again = await cancel(operation.id)
      assert.deepStrictEqual(
        [again.status, again.json.operation.status, again.json.operation.finishedAt],
        [200, "cancelled", cancelled.json.operation.finishedAt]
      )
      const done = (await start({ argv: ["true"] })).json.operation
      while ((await wait(done.id)).json.operation.status !== "completed");
      assert.strictEqual((await cancel(done.id)).json.operation.status, "completed")
    })
  )

  it.effect("the first rejected events of an operation are listed with their reasons", () =>
    withSandbox(async ({ send, start, wait }) => {
      /** An event that another process rejected appears a moment later. */
      const declined = async (operationId: string, count: number): Promise<DeclinedEventList> => {
        for (;;) {
          const { json, text } = await send("GET", `/operations/${operationId}/declined`)
          assert.isTrue(Schema.is(DeclinedEventList)(json), text)
          if (!isOverAFleet || json.declined.length + Number(json.truncated) >= count) return json
        }
      }
      const cancel = (operationId: string, requestId: string) =>
        send("POST", `/operations/${operationId}/cancel`, { headers: { "x-request-id": requestId } })
      const { operation } = (await start({ argv: hang })).json
      // An operation that is cancelled before it runs later gets the event of its start, and rejects that, too.
      while ((await send("GET", `/operations/${operation.id}`)).json.operation.status === "queued") {}
      assert.deepStrictEqual(await declined(operation.id, 0), { declined: [], truncated: false })
      await cancel(operation.id, "in-time")
      await cancel(operation.id, "repeated")
      const done = (await start({ argv: ["true"] })).json.operation
      while ((await wait(done.id)).json.operation.status !== "completed");
      await cancel(done.id, "too-late")
      const ofBoth = [await declined(operation.id, 1), await declined(done.id, 1)]
      assert.deepStrictEqual(
        ofBoth.map(({ declined }) =>
          declined.map(({ state, event, code, cause, requestId }) => [state, event.type, code, cause, requestId])
        ),
        [[["cancelled", "CANCEL", null, "client", "repeated"]], [["completed", "CANCEL", null, "client", "too-late"]]]
      )
      const log: TransitionList = (await send("GET", `/operations/${done.id}/transitions`)).json
      const last = log.transitions.at(-1)!
      assert.strictEqual(ofBoth[1]!.declined[0]!.revision, last.revision)
      assert.isAtLeast(Date.parse(ofBoth[1]!.declined[0]!.at), Date.parse(last.at))

      for (let at = 0; at < declinedEventsMax + 5; at++) await cancel(done.id, `again-${at}`)
      const many = await declined(done.id, declinedEventsMax + 1)
      assert.deepStrictEqual([many.declined.length, many.truncated], [declinedEventsMax, true])
      assert.strictEqual(many.declined[0]!.requestId, "too-late")
      assert.strictEqual(many.declined.at(-1)!.requestId, `again-${declinedEventsMax - 2}`)
    })
  )

  it.effect("wait takes 0 to 30 seconds, and an optional body", () =>
    withSandbox(async ({ send, start, wait }) => {
      const { operation } = (await start({ argv: hang })).json
      assert.strictEqual((await wait(operation.id, { timeoutSeconds: 0 })).status, 200)
      assert.strictEqual((await wait(operation.id, { timeoutSeconds: 30, stdoutOffset: 0 })).status, 200)
      for (const body of [
        { timeoutSeconds: -1 },
        { timeoutSeconds: 30.5 },
        { timeoutSeconds: "1" },
        { stdoutOffset: -1 },
        { stderrOffset: 1.5 }
      ]) {
        assert.strictEqual((await wait(operation.id, body)).status, 400, JSON.stringify(body))
      }
      const waiting = send("POST", `/operations/${operation.id}/wait`)
      await send("POST", `/operations/${operation.id}/cancel`)
      assert.strictEqual((await waiting).json.operation.status, "cancelled")
      // Its process tree is gone: no further event can apply.
      while ((await send("GET", `/operations/${operation.id}`)).json.operation.processTree === "running") {}
      assert.deepStrictEqual((await send("GET", `/operations/${operation.id}/transitions`)).json.nextEvents, [])
    })
  )

  it.effect("the list is newest first and paged; each operation has its transition log", () =>
    withSandbox(async ({ send, start }) => {
      const made: Array<string> = []
      for (let at = 0; at < 3; at++) made.unshift((await start({ argv: ["true"] })).json.operation.id)
      const ids: Array<string> = []
      for (let cursor: string | null = ""; cursor !== null; ) {
        const page: Answer = await send(
          "GET",
          `/operations?limit=2${cursor && `&cursor=${encodeURIComponent(cursor)}`}`
        )
        assert.isTrue(Schema.is(OperationList)(page.json), page.text)
        ids.push(...page.json.operations.map((operation: Operation) => operation.id))
        cursor = page.json.nextCursor
      }
      assert.deepStrictEqual(ids, made)
      const log = await send("GET", `/operations/${made[0]}/transitions`)
      assert.isTrue(Schema.is(TransitionList)(log.json), log.text)
      assert.strictEqual((await send("GET", "/operations?cursor=nonsense")).status, 400)
      const ofSandboxes = Buffer.from("1:sbx_01m7zg3zkyedfr5k3bt2p5nme4").toString("base64url")
      assert.strictEqual((await send("GET", `/operations?cursor=${ofSandboxes}`)).status, 400)
    })
  )

  it.effect("an operation of another Sandbox is 404", () =>
    withSandbox(async ({ start }, api) => {
      const { operation } = (await start({ argv: ["true"] })).json
      const other = await running(api)
      for (const [method, call] of [
        ["GET", ""],
        ["GET", "/output?stream=stdout&offset=0"],
        ["POST", "/wait"],
        ["POST", "/cancel"],
        ["GET", "/transitions"],
        ["GET", "/declined"]
      ] as const) {
        assert.strictEqual((await other.send(method, `/operations/${operation.id}${call}`)).status, 404, call)
      }
    })
  )
})
