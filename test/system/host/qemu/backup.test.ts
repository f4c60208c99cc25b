/**
 * A backup of a service with a sleeping machine: the archive has its volume, the loss of its memory is reported, and
 * the original sleeps on.
 */
import { execFileSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { newSecret } from "../../../../src/account/ApiKeySecret.ts"
import { machineSettings, TIMEOUT_MS, unusable } from "../../../support/host/qemu/TestMachines.ts"
import { serviceIn } from "../../../support/ServiceIn.ts"
import { testFolder } from "../../../support/testFolder.ts"

describe.skipIf(unusable !== null)("atoll backup and restore of a sleeping machine", () => {
  it.live(
    "keep its volume, report that its memory is missing, and leave the original asleep with all its processes",
    () =>
      Effect.gen(function* () {
        const folder = yield* testFolder
        const [dataDir, copyDir, archive] = [join(folder, "data"), join(folder, "copy"), join(folder, "archive")]
        const key = newSecret()
        const settings = { ...machineSettings, ATOLL_SLEEP_AFTER_SECONDS: "3" }
        const original = yield* serviceIn(dataDir, key, settings)
        const copy = yield* serviceIn(copyDir, key, settings)
        const { send } = yield* original.start
        const asking = (to: typeof send) => (method: string, path: string, body?: object) =>
          Effect.promise(() =>
            to(method, `/api/v2${path}`, {
              ...(body === undefined ? {} : { body }),
              headers: { "idempotency-key": randomUUID() }
            })
          )
        const ask = asking(send)
        const workspaceId = (yield* ask("POST", "/workspaces", { name: "one" })).json.workspace.id
        const wanted = { workspaceId, networkEnabled: false, name: "sleeper" }
        const { id } = (yield* ask("POST", "/sandboxes", wanted)).json.sandbox
        const of = (it: typeof ask) => ({
          sandbox: Effect.map(it("GET", `/sandboxes/${id}`), ({ json }) => json.sandbox),
          sh: (script: string) => it("POST", `/sandboxes/${id}/execute`, { argv: ["sh", "-c", script] })
        })
        const first = of(ask)
        // The first machine of a host waits for its template, which may take longer than a create does.
        yield* Effect.repeat(Effect.delay(first.sandbox, 200), {
          until: ({ status }) => status === "running" || status === "sleeping"
        })
        const wrote = yield* first.sh("echo written > /workspace/note; echo remembered > /dev/shm/mark")
        assert.strictEqual(wrote.json.result?.exitCode, 0, wrote.text)
        const state = join(dataDir, "runtime/qemu", id, "suspended.state")
        const sleeps = Effect.repeat(Effect.delay(first.sandbox, 200), {
          until: ({ status }) => status === "sleeping" && existsSync(state)
        })
        yield* sleeps
        // It ends its QEMU after its memory is whole.
        const taken = yield* original.atoll("backup", archive, "--json")
        assert.strictEqual(taken.code, 0, taken.stderr)
        assert.deepInclude(JSON.parse(taken.stdout), { volumes: 1 })
        assert.strictEqual((yield* first.sandbox).status, "sleeping")

        const restored = yield* copy.atoll("restore", archive, "--json")
        assert.strictEqual(restored.code, 0, restored.stderr)
        assert.deepInclude(JSON.parse(restored.stdout), { volumes: 1, stopped: 1 })
        assert.isFalse(existsSync(join(copyDir, "runtime/qemu", id, "suspended.state")))
        execFileSync("e2fsck", ["-fn", join(copyDir, "runtime/qemu", id, "volume.raw")], { stdio: "pipe" })
        const askCopy = asking((yield* copy.start).send)
        const second = of(askCopy)
        const found = yield* second.sandbox
        assert.deepStrictEqual([found.status, found.statusReason.code], ["stopped", "RESTORED"])
        assert.include(found.statusReason.message, "not its memory")
        yield* askCopy("POST", `/sandboxes/${id}/start?wait=running`)
        const there = yield* second.sh("cat /workspace/note; ls /dev/shm")
        assert.include(there.text, "written")
        assert.notInclude(there.text, "mark")

        assert.include((yield* first.sh("cat /dev/shm/mark")).text, "remembered")
        assert.strictEqual((yield* first.sandbox).generation, 1)
      }).pipe(Effect.scoped),
    4 * TIMEOUT_MS
  )
})
