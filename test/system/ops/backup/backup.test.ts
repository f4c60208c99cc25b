/** A backup of a service with running Sandboxes, and its restore beside the original. */
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { readFileSync, realpathSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { AuditEvent } from "../../../../schemas/Audit.ts"
import { newSecret } from "../../../../src/account/ApiKeySecret.ts"
import { HostLayout } from "../../../../src/host/namespace/HostLayout.ts"
import { markedProcesses } from "../../../../src/host/namespace/markedProcesses.ts"
import { withinMs } from "../../../support/commandLine.ts"
import { Browser } from "../../../support/console/server/Browser.ts"
import { isRoot, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { serviceIn } from "../../../support/ServiceIn.ts"
import { testFolder } from "../../../support/testFolder.ts"
import { untilSeen } from "../../../support/until.ts"

const why = unusable ?? (isRoot ? null : "volumes are plain folders without root")

const runningIn = (dataDir: string): number => {
  const folder = realpathSync(join(dataDir, "runtime/namespace"))
  return markedProcesses(`atoll-${createHash("sha256").update(folder).digest("hex").slice(0, 12)}`).length
}

describe.skipIf(skipped(why))("atoll backup and restore", () => {
  it.live(
    "copy a running service with its files, and make another one of it beside the original",
    () =>
      Effect.gen(function* () {
        const folder = yield* testFolder
        const [dataDir, copyDir, archive] = [join(folder, "data"), join(folder, "copy"), join(folder, "archive")]
        const key = newSecret()
        const original = yield* serviceIn(dataDir, key)
        const copy = yield* serviceIn(copyDir, key, { ATOLL_PUBLIC_URL: "http://127.0.0.1:8080" })
        const { send } = yield* original.start
        const ask = (method: string, path: string, body?: object) =>
          Effect.promise(() =>
            send(method, `/api/v2${path}`, {
              ...(body === undefined ? {} : { body }),
              headers: { "idempotency-key": `${path}${JSON.stringify(body)}` }
            })
          )
        const workspaceId = (yield* ask("POST", "/workspaces", { name: "one" })).json.workspace.id
        const create = (name: string) =>
          ask("POST", "/sandboxes?wait=running", { workspaceId, networkEnabled: false, name })
        const running = (yield* create("running")).json.sandbox.id
        const stopped = (yield* create("stopped")).json.sandbox.id
        const run = (id: string, command: string) =>
          ask("POST", `/sandboxes/${id}/execute`, { argv: ["sh", "-c", command] })
        for (const id of [running, stopped]) yield* run(id, `echo of ${id} > /workspace/note`)
        yield* ask("POST", `/sandboxes/${stopped}/stop`)
        // Writes all the time.
        yield* run(running, "(while :; do echo x >> /workspace/log; done) > /dev/null 2>&1 & sleep 0.2")

        const taking = (yield* ask("POST", `/sandboxes/${stopped}/snapshots`, { name: "kept" })).json.snapshot.id
        const snapshot = yield* Effect.promise(() =>
          untilSeen(
            () => send("GET", `/api/v2/snapshots/${taking}`),
            ({ json }) => json.snapshot.status === "ready"
          )
        )
        const imageOf = (dir: string) => join(dir, "runtime/namespace/.snapshots", `${taking}.img`)
        const digestOf = (dir: string) =>
          createHash("sha256")
            .update(readFileSync(imageOf(dir)))
            .digest("hex")
        const taken = yield* original.atoll("backup", archive, "--json")
        // A progress line now and then, if it is slow.
        assert.match(taken.stderr, /^(atoll: (volumes|database): \d+ MiB of \d+ MiB\n)*$/)
        assert.strictEqual(taken.code, 0)
        assert.deepInclude(JSON.parse(taken.stdout), { volumes: 2, snapshots: 1, unheld: [] })
        assert.isBelow(statSync(archive).size, 4 * 1024 ** 2)
        // The state after a kill of the backup with all its processes: the service thaws it.
        const image = join(dataDir, "runtime/namespace", running, "volume.img")
        const layout = HostLayout.at(dataDir)
        execFileSync("fsfreeze", ["-f", layout.volume(layout.state(running)).folder])
        writeFileSync(`${image}.held`, JSON.stringify({ pid: 1, startTime: 0, bootId: "none" }))
        // It goes on.
        const before = runningIn(dataDir)
        assert.include((yield* run(running, "echo on > /workspace/later; cat /workspace/note")).text, `of ${running}`)

        const restored = yield* copy.atoll("restore", archive, "--json")
        assert.strictEqual(restored.code, 0, restored.stderr)
        assert.deepInclude(JSON.parse(restored.stdout), { volumes: 2, snapshots: 1, stopped: 1 })
        assert.strictEqual(runningIn(copyDir), 0)
        for (const id of [running, stopped]) {
          const image = join(copyDir, "runtime/namespace", id, "volume.img")
          // Throws where the file system is not whole.
          execFileSync("e2fsck", ["-fn", image], { stdio: "pipe" })
          assert.isBelow(statSync(image).blocks * 512, 8 * 1024 ** 2)
        }
        assert.strictEqual(digestOf(copyDir), digestOf(dataDir))
        assert.isBelow(statSync(imageOf(copyDir)).blocks * 512, 8 * 1024 ** 2)
        const over = yield* copy.atoll("restore", archive)
        assert.deepStrictEqual([over.code, over.stdout], [1, ""])
        assert.include(over.stderr, "is not empty: an Atoll lives in it")

        const second = yield* copy.start
        const askCopy = (method: string, path: string, body?: object) =>
          Effect.promise(() => second.send(method, `/api/v2/sandboxes/${path}`, body === undefined ? {} : { body }))
        const found = (yield* askCopy("GET", running)).json.sandbox
        assert.deepStrictEqual([found.status, found.statusReason.code], ["stopped", "RESTORED"])
        for (const id of [running, stopped]) {
          assert.strictEqual((yield* askCopy("POST", `${id}/start?wait=running`)).json.sandbox.status, "running")
          const note = yield* askCopy("POST", `${id}/execute`, {
            argv: ["sh", "-c", "cat /workspace/note; ls /workspace"]
          })
          assert.include(note.text, `of ${id}`)
          assert.notInclude(note.text, "later")
        }
        const restoredSnapshot = yield* Effect.promise(() => second.send("GET", `/api/v2/snapshots/${taking}`))
        assert.deepStrictEqual(restoredSnapshot.json.snapshot, snapshot.json.snapshot)
        const made = yield* Effect.promise(() =>
          second.send("POST", "/api/v2/sandboxes?wait=running", {
            body: { workspaceId, networkEnabled: false, snapshotId: taking },
            headers: { "idempotency-key": "of the snapshot" }
          })
        )
        const kept = yield* askCopy("POST", `${made.json.sandbox.id}/execute`, { argv: ["cat", "/workspace/note"] })
        assert.include(kept.text, `of ${stopped}`)
        const verified = yield* copy.atoll("usage", "verify", "--json")
        assert.deepStrictEqual([verified.code, JSON.parse(verified.stdout).differences], [0, []], verified.stderr)

        const printed = yield* copy.atoll("operator", "link", "--json")
        assert.strictEqual(printed.code, 0, printed.stderr)
        const { link } = JSON.parse(printed.stdout)
        const operator = new Browser(second.port)
        const asOperator = (method: string, path: string, body?: object) =>
          Effect.promise(() => operator.console(method, `/operator${path}`, body))
        const entered = yield* asOperator("POST", "/sign-in", {
          code: new URLSearchParams(new URL(link).hash.slice(1)).get("link")
        })
        assert.strictEqual(entered.status, 200, entered.text)
        const audit = yield* asOperator("GET", "/audit?source=operator")
        assert.strictEqual(audit.status, 200, audit.text)
        assert.deepStrictEqual(
          audit.json.events
            .filter(({ action }: AuditEvent) => action.endsWith("Backup"))
            .map(({ action, path, targetId }: AuditEvent) => [action, path, targetId]),
          [
            ["restoreBackup", "atoll restore", archive],
            ["startBackup", "atoll backup", archive]
          ]
        )

        const untouched = (yield* ask("GET", `/sandboxes/${running}`)).json.sandbox
        assert.deepStrictEqual([untouched.status, untouched.generation], ["running", 1])
        assert.strictEqual(runningIn(dataDir), before)
      }).pipe(Effect.scoped),
    4 * withinMs
  )
})
