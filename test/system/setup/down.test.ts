/** `atoll down`: with real Sandboxes and an embedded database, in a separate data folder. */
import { createHash } from "node:crypto"
import { once } from "node:events"
import { existsSync, readFileSync, realpathSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { newSecret } from "../../../src/account/ApiKeySecret.ts"
import { markedProcesses } from "../../../src/host/namespace/markedProcesses.ts"
import { withinMs } from "../../support/commandLine.ts"
import { skipped, unusable } from "../../support/host/namespace/TestHost.ts"
import { serviceIn } from "../../support/ServiceIn.ts"
import { testFolder } from "../../support/testFolder.ts"

const setting = Effect.gen(function* () {
  const dataDir = join(yield* testFolder, "data")
  const { start, atoll } = yield* serviceIn(dataDir, newSecret())
  return { dataDir, start, down: (...flags: ReadonlyArray<string>) => atoll("down", "--json", ...flags) }
})

/** The processes, mounts and folders of this data folder's Sandboxes. */
const traces = (instance: string) => ({
  processes: markedProcesses(instance).length,
  mounts: readFileSync("/proc/self/mountinfo", "utf8").split(instance).length - 1,
  folder: existsSync(join("/run", instance))
})

describe.skipIf(skipped(unusable))("atoll down", () => {
  it.live(
    "stops what Ctrl-C leaves running, and everything with the service; with --purge nothing is left",
    () =>
      Effect.gen(function* () {
        const { dataDir, start, down } = yield* setting
        const first = yield* start
        const instance = `atoll-${createHash("sha256")
          .update(realpathSync(join(dataDir, "runtime/namespace")))
          .digest("hex")
          .slice(0, 12)}`
        const keyed = (body: object) => ({ headers: { "idempotency-key": "one" }, body })
        const { workspace } = (yield* Effect.promise(() =>
          first.send("POST", "/api/v2/workspaces", keyed({ name: "a" }))
        )).json
        const made = yield* Effect.promise(() =>
          first.send(
            "POST",
            "/api/v2/sandboxes?wait=running",
            keyed({ workspaceId: workspace.id, networkEnabled: false })
          )
        )
        const { id, status } = made.json.sandbox
        assert.strictEqual(status, "running", made.text)
        const path = `/api/v2/sandboxes/${id}`
        yield* Effect.promise(() =>
          first.send("POST", `${path}/execute`, { body: { argv: ["sh", "-c", "echo kept > /workspace/note"] } })
        )
        first.child.kill("SIGINT")
        yield* Effect.promise(() => once(first.child, "exit"))
        assert.include(first.said(), "One Sandbox continues without Atoll")
        assert.isAbove(traces(instance).processes, 0)

        const { code, stdout, stderr } = yield* down()
        assert.deepStrictEqual([code, stderr], [0, ""])
        assert.deepInclude(JSON.parse(stdout), { processes: 0, sandboxes: 1, isPurged: false })
        assert.deepInclude(traces(instance), { processes: 0, mounts: 0 })
        assert.deepInclude(JSON.parse((yield* down()).stdout), { processes: 0, sandboxes: 0 })

        const second = yield* start
        const found = yield* Effect.promise(() => second.send("GET", path))
        assert.deepInclude(found.json.sandbox, { status: "stopped" })
        assert.strictEqual(found.json.sandbox.statusReason.code, "ATOLL_DOWN")
        yield* Effect.promise(() => second.send("POST", `${path}/start?wait=running`))
        const kept = yield* Effect.promise(() =>
          second.send("POST", `${path}/execute`, { body: { argv: ["cat", "/workspace/note"] } })
        )
        assert.include(kept.text, "kept")

        const unsure = yield* down("--purge")
        assert.deepStrictEqual([unsure.code, unsure.stdout], [2, ""])
        assert.include(unsure.stderr, "--yes")
        assert.isNull(second.child.exitCode)
        const ended = once(second.child, "exit")
        const purged = yield* down("--purge", "--yes")
        assert.deepStrictEqual([purged.code, purged.stderr], [0, ""])
        assert.deepInclude(JSON.parse(purged.stdout), { processes: 1, sandboxes: 1, isPurged: true })
        assert.deepStrictEqual((yield* Effect.promise(() => ended))[0], 0)
        assert.isFalse(existsSync(dataDir))
        assert.deepStrictEqual(traces(instance), { processes: 0, mounts: 0, folder: false })
      }).pipe(Effect.scoped),
    withinMs
  )

  it.live(
    "makes nothing where nothing was ever started",
    () =>
      Effect.gen(function* () {
        const { dataDir, down } = yield* setting
        assert.strictEqual((yield* down()).code, 0)
        assert.isFalse(existsSync(dataDir))
      }).pipe(Effect.scoped),
    withinMs
  )
})
