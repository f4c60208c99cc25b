/** The TypeScript library against the real service, with real programs inside, also over a proxy that cuts its connections. */
import { createHash, randomBytes } from "node:crypto"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import {
  Atoll,
  AtollError,
  ConnectionError,
  type TransitionEvent,
  WaitTimeout
} from "../../../../clients/typescript/src/index.ts"
import { cuttingProxy } from "../../../support/clients/CuttingProxy.ts"
import { freePort } from "../../../support/freePort.ts"
import { freshDriver, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { ServedAtoll } from "../../../support/ServedAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"

const retainedBytes = 300_000
const small = {
  ATOLL_VOLUME_BYTES: String(128 * 1024 ** 2),
  ATOLL_OUTPUT_RETENTION_BYTES: String(retainedBytes)
}

const digest = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

/** What the call fails with. */
const failed = async (call: Promise<unknown>): Promise<unknown> => {
  try {
    await call
  } catch (thrown) {
    return thrown
  }
  throw new Error("It did not fail.")
}

const withAtoll = (use: (atoll: Atoll, served: ServedAtoll["Service"]) => Promise<void>) =>
  Effect.flatMap(ServedAtoll, (served) =>
    Effect.promise(() => use(new Atoll({ apiKey: served.key, url: `http://127.0.0.1:${served.port}` }), served))
  )

const gathered = async <A>(things: AsyncIterable<A>): Promise<Array<A>> => {
  const all: Array<A> = []
  for await (const thing of things) all.push(thing)
  return all
}

describe.skipIf(skipped(unusable))("the TypeScript library", () => {
  layer(ServedAtoll.layer(freshDriver(small), small).pipe(Layer.provideMerge(TestDatabase.layer)), {
    excludeTestServices: true
  })((it) => {
    it.effect("does the whole job: a Sandbox, commands, files, a preview, and what became of it", () =>
      withAtoll(async (atoll) => {
        assert.strictEqual((await atoll.me()).account.name, "default")
        let id = ""
        {
          await using sandbox = await atoll.sandboxes.create({
            name: "first",
            metadata: { team: "blue" },
            networkEnabled: true
          })
          id = sandbox.id
          assert.strictEqual(sandbox.status, "running")
          assert.deepStrictEqual((await atoll.sandboxes.get(id)).record.metadata, { team: "blue" })

          const told: Array<string> = []
          const script = 'echo "grüße $WHO"; cat; echo oops >&2; pwd; exit 3'
          const result = await sandbox.run(["sh", "-c", script], {
            stdin: "from stdin\n",
            env: { WHO: "Ada" },
            cwd: "/workspace",
            onStdout: (text) => told.push(text)
          })
          assert.deepInclude(result, {
            exitCode: 3,
            signal: null,
            stdout: "grüße Ada\nfrom stdin\n/workspace\n",
            stderr: "oops\n",
            truncated: false
          })
          assert.strictEqual(told.join(""), result.stdout)
          const bytes = await sandbox.run(["od", "-An", "-tx1"], { stdin: new Uint8Array([0, 255, 10]) })
          assert.strictEqual(bytes.stdout.trim(), "00 ff 0a")
          const tail = await sandbox.run(["sh", "-c", "seq 1 100000; sleep 0.1; echo end"], { keepBytes: 1000 })
          assert.isTrue(tail.truncated)
          assert.match(tail.stdout, /100000\nend\n$/)
          assert.strictEqual((await sandbox.run(["sh", "-c", "kill -9 $$"])).signal, "SIGKILL")
          const late = await sandbox.run(["sleep", "60"], { timeoutSeconds: 1 })
          assert.strictEqual(late.operation.reason?.code, "TIMED_OUT")

          const sleeper = await sandbox.start(["sh", "-c", "echo up; sleep 600"])
          assert.instanceOf(await failed(sleeper.wait({ withinSeconds: 0.1 })), WaitTimeout)
          const ending = new AbortController()
          const endless = ["bash", "-c", "echo up; sleep 600"]
          const left = failed(sandbox.run(endless, { signal: ending.signal, onStdout: () => ending.abort() }))
          assert.strictEqual(await left, ending.signal.reason)
          for await (const chunk of sleeper.output()) {
            assert.strictEqual(new TextDecoder().decode(chunk.bytes), "up\n")
            break
          }
          assert.strictEqual((await sleeper.cancel()).status, "cancelled")
          assert.strictEqual((await (await sandbox.operation(sleeper.id)).wait()).status, "cancelled")
          const names = (await gathered(sandbox.operations())).map(({ record }) => record.argv[0])
          assert.deepStrictEqual(names, ["bash", "sh", "sleep", "sh", "sh", "od", "sh"])

          const { files } = sandbox
          await files.mkdir("deep/er", { recursive: true })
          await files.write("deep/er/note.txt", "one two two")
          assert.strictEqual(await files.read("/workspace/deep/er/note.txt"), "one two two")
          const ambiguous = await failed(files.edit("deep/er/note.txt", { oldText: "two", newText: "three" }))
          assert.isTrue(
            ambiguous instanceof AtollError && ambiguous.is("TEXT_AMBIGUOUS") && ambiguous.details.occurrences === 2
          )
          const edited = await files.edit("deep/er/note.txt", { oldText: "two", newText: "three", replaceAll: true })
          assert.strictEqual(edited.sha256, await files.sha256("deep/er/note.txt"))
          assert.strictEqual(await files.read("deep/er/note.txt"), "one three three")
          await files.rename("deep/er/note.txt", "moved.txt")
          assert.deepStrictEqual(
            [await files.exists("deep/er/note.txt"), await files.exists("moved.txt")],
            [false, true]
          )
          assert.strictEqual((await files.stat("moved.txt")).sizeBytes, 15)
          await sandbox.run([
            "sh",
            "-c",
            "mkdir many && cd many && seq 1 2300 | xargs touch && head -c 20000000 /dev/urandom > ../large"
          ])
          assert.lengthOf(await gathered(files.list("many")), 2300)
          const large = await sandbox.run(["sha256sum", "large"])
          assert.strictEqual(digest(await files.readBytes("large")), large.stdout.slice(0, 64))
          await files.remove("many", { recursive: true })
          assert.isFalse(await files.exists("many"))

          const server = await sandbox.start([
            "node",
            "-e",
            "setTimeout(() => require('http').createServer((_, r) => r.end('hello')).listen(3000), 500)"
          ])
          const preview = await sandbox.previews.open(3000)
          assert.match(preview.url, /^http:\/\/[0-9a-f]+\./)
          assert.isTrue((await sandbox.processes()).some(({ argv }) => argv[0] === "node"))
          const exists = await failed(sandbox.previews.open(3001))
          assert.isTrue(exists instanceof AtollError && exists.is("PREVIEW_EXISTS") && exists.outcome === "notApplied")
          await preview.close()
          assert.instanceOf(await failed(sandbox.previews.open(9, { withinSeconds: 0.3 })), WaitTimeout)
          assert.isTrue((await sandbox.previews.list()).every(({ status }) => status !== "active"))
          await server.cancel()

          await sandbox.stop()
          assert.strictEqual(sandbox.status, "stopped")
          const notRunning = await failed(sandbox.run(["true"]))
          assert.isTrue(notRunning instanceof AtollError && notRunning.is("SANDBOX_UNAVAILABLE"))
          await sandbox.boot()
          await sandbox.update({ name: "second", metadata: { team: null, stage: "two" }, env: { COLOUR: "teal" } })
          assert.deepInclude(sandbox.record, { name: "second", metadata: { stage: "two" }, envNames: ["COLOUR"] })
          assert.strictEqual((await sandbox.run(["printenv", "COLOUR"])).stdout, "teal\n")
          assert.strictEqual(await files.read("moved.txt"), "one three three")
          const states = (await gathered(sandbox.transitions())).map(({ to }) => to)
          assert.deepStrictEqual(states.slice(0, 2), ["pending", "running"])
          assert.include((await sandbox.logs()).map(({ text }) => text).join(""), "grüße Ada")
        }
        assert.include(["deleting", "deleted"], (await atoll.sandboxes.get(id)).status)
        assert.isTrue((await gathered(atoll.sandboxes.list({ status: ["running"] }))).every((other) => other.id !== id))
        assert.strictEqual((await atoll.usage.balance()).currency, "USD")
      })
    )

    it.effect("says how much of an operation's output is no longer kept, where it is missing", () =>
      withAtoll(async (atoll) => {
        await using sandbox = await atoll.sandboxes.create()
        const writtenBytes = 1_000_000
        const operation = await sandbox.start(["sh", "-c", `head -c ${writtenBytes} /dev/zero; echo end >&2`])
        await operation.wait()
        // It is cut beside what is answered.
        while ((await operation.read("stdout", 0)).offset === 0) await new Promise((resolve) => setTimeout(resolve, 20))
        const from = { stdout: 1000 }
        const pieces = (await gathered(operation.output({ from }))).filter(({ stream }) => stream === "stdout")
        const [first, ...later] = pieces
        assert.isTrue(first!.truncated)
        assert.strictEqual(first!.missingBytes, first!.offset - from.stdout)
        assert.isAtLeast(first!.missingBytes, writtenBytes - from.stdout - 2 * retainedBytes)
        assert.isTrue(later.every(({ missingBytes, truncated }) => missingBytes === 0 && !truncated))
        const bytes = pieces.reduce((sum, piece) => sum + piece.bytes.length, 0)
        assert.strictEqual(from.stdout + first!.missingBytes + bytes, writtenBytes)
        const whole = (await gathered(operation.output())).filter(({ stream }) => stream === "stderr")
        assert.deepStrictEqual(
          whole.map(({ missingBytes }) => missingBytes),
          [0]
        )
      })
    )

    it.effect("types what fails, and says what became of it", () =>
      withAtoll(async (atoll, served) => {
        const missing = await failed(atoll.sandboxes.get("sbx_01234567890123456789abcdef"))
        assert.isTrue(missing instanceof AtollError && missing.is("NOT_FOUND") && missing.status === 404)
        assert.match((missing as AtollError).requestId, /^req_/)
        assert.match(String((missing as AtollError).documentation), /^http:\/\/127\.0\.0\.1:\d+\/docs#NOT_FOUND$/)
        const narrow = new Atoll({
          apiKey: (await served.newKey(["usage:read"])).secret,
          url: `http://127.0.0.1:${served.port}`
        })
        const refused = await failed(narrow.workspaces.list())
        assert.isTrue(
          refused instanceof AtollError && refused.is("SCOPE_REQUIRED") && refused.details.scope === "sandbox:read"
        )
        const nobody = new Atoll({
          apiKey: served.key,
          url: `http://127.0.0.1:${await freePort()}`,
          patienceSeconds: 0
        })
        const away = await failed(nobody.workspaces.create("x"))
        assert.isTrue(away instanceof ConnectionError && away.outcome === "notApplied")
        // fetch does not connect to port 9 at all.
        const { sandboxes } = new Atoll({ apiKey: served.key, url: "http://127.0.0.1:9", patienceSeconds: 0 })
        for (const call of [() => nobody.me(), () => nobody.sandboxes.get("sbx_1"), () => sandboxes.get("sbx_1")]) {
          const refused = await failed(call())
          assert.isTrue(refused instanceof ConnectionError && refused.outcome === "notApplied", String(refused))
        }
        assert.throws(() => new Atoll({ apiKey: "with\nline", url: "http://127.0.0.1" }), TypeError)
        const workspace = await atoll.workspaces.create("mine")
        const unknown = await failed(
          atoll.api.call("createSandbox", {
            parameters: { "Idempotency-Key": "k" },
            body: { workspaceId: workspace.id, nam: "x" } as never
          })
        )
        assert.isTrue(unknown instanceof AtollError && unknown.is("INVALID_REQUEST"))
        assert.match((unknown as AtollError).message, /nam: Not known. The nearest name is name/)
        await atoll.workspaces.rename(workspace.id, "yours")
        await atoll.workspaces.delete(workspace.id)
      })
    )

    it.effect("does nothing twice and misses nothing over connections that are cut at random bytes", () =>
      Effect.gen(function* () {
        const served = yield* ServedAtoll
        const proxy = yield* cuttingProxy(20261122)
        proxy.to = served.port
        const atoll = new Atoll({ apiKey: served.key, url: `http://127.0.0.1:${proxy.port}`, patienceSeconds: 120 })
        yield* Effect.promise(async () => {
          const sandbox = await atoll.sandboxes.create()
          const seen: Array<TransitionEvent> = []
          const watching = new AbortController()
          const watched = (async () => {
            for await (const event of sandbox.events({ signal: watching.signal })) seen.push(event)
            throw new Error("The events ended.")
          })()
          watched.catch(() => {})
          /** Fails where no event comes any more. */
          const soon = () => Promise.race([watched, new Promise((resolve) => setTimeout(resolve, 20))])
          // Told is what happens once the service has begun to, and that it has is known when something came.
          const openings = new Set<string>()
          for (; seen.length === 0; await soon()) openings.add((await sandbox.run(["true"])).operation.id)

          // One event of an output stream may hold all that a turn writes, 50 kB of base64.
          proxy.cutWithin = 100_000
          proxy.cutAll()
          const text = randomBytes(20_000).toString("hex")
          await sandbox.run(["sh", "-c", "rm -f twice; touch started"])
          for (let turn = 0; turn < 6; turn++) {
            const slow = `echo ${turn} >> twice; for i in 1 2 3 4 5; do seq ${turn}00000 ${turn}01000; sleep 0.05; done; echo end >&2`
            const result = await sandbox.run(["sh", "-c", slow])
            const lines = Array.from({ length: 1001 }, (_, at) => String(turn * 100_000 + at)).join("\n")
            assert.strictEqual(result.stdout, `${lines}\n`.repeat(5))
            assert.strictEqual(result.stderr, "end\n")
          }
          assert.strictEqual(await sandbox.files.read("twice"), "0\n1\n2\n3\n4\n5\n")
          // Not asked again by the library: the answer may have been lost. It is the same file each time, so who writes may.
          for (let attempt = 0; ; attempt++) {
            try {
              await sandbox.files.write("text", text)
              break
            } catch (thrown) {
              assert.isTrue(thrown instanceof ConnectionError && thrown.outcome === "unknown", String(thrown))
              if (attempt === 10) proxy.cutWithin = null
            }
          }
          proxy.cutWithin = 100_000
          proxy.cutAll()
          do assert.strictEqual(await sandbox.files.read("text"), text)
          while (proxy.cuts() < 5)

          proxy.cutWithin = null
          proxy.cutAll()
          const last = await sandbox.run(["true"])
          const isOver = () => seen.some(({ actorId, to }) => actorId === last.operation.id && to === "completed")
          while (!isOver()) await soon()
          watching.abort()
          assert.strictEqual(await failed(watched), watching.signal.reason)
          const operations = await gathered(sandbox.operations())
          assert.lengthOf(operations, openings.size + 8, "none was started twice")
          for (const { id } of operations) {
            const revisions = seen.filter(({ actorId }) => actorId === id).map(({ revision }) => revision)
            const stored = (await gathered((await sandbox.operation(id)).transitions())).map(({ revision }) => revision)
            // Those may have begun before it was watched.
            if (!openings.has(id)) assert.deepStrictEqual(revisions, stored, "each transition once, in order")
          }
          await sandbox.delete()
        })
      })
    )
  })
})
