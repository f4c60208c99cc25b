/** A backup that the operator's page started goes on when its service is killed, and can be restored. */
import { once } from "node:events"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { newSecret } from "../../../../src/account/ApiKeySecret.ts"
import { withinMs } from "../../../support/commandLine.ts"
import { Browser } from "../../../support/console/server/Browser.ts"
import { isRoot, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { serviceIn } from "../../../support/ServiceIn.ts"
import { testFolder } from "../../../support/testFolder.ts"
import { until } from "../../../support/until.ts"

const why = unusable ?? (isRoot ? null : "volumes are plain folders without root")

describe.skipIf(skipped(why))("a backup of the operator's page", () => {
  it.live(
    "outlives its service, is shown by the next one, and is restored",
    () =>
      Effect.gen(function* () {
        const folder = yield* testFolder
        const [dataDir, copyDir] = [join(folder, "data"), join(folder, "copy")]
        const key = newSecret()
        const more = { ATOLL_VOLUME_BYTES: String(1024 ** 3), ATOLL_PUBLIC_URL: "http://127.0.0.1:8080" }
        const original = yield* serviceIn(dataDir, key, more)
        const copy = yield* serviceIn(copyDir, key, more)
        const first = yield* original.start
        const ask = (path: string, body: object) =>
          Effect.promise(() => first.send("POST", `/api/v2${path}`, { body, headers: { "idempotency-key": path } }))
        const workspaceId = (yield* ask("/workspaces", { name: "one" })).json.workspace.id
        const { id } = (yield* ask("/sandboxes?wait=running", { workspaceId, networkEnabled: false })).json.sandbox
        // It takes longer to compress than a kill takes.
        const argv = ["sh", "-c", "head -c 400000000 /dev/urandom > /workspace/large; echo written"]
        const written = yield* ask(`/sandboxes/${id}/execute`, { argv })
        assert.include(written.text, "written")

        const operator = (port: number) =>
          Effect.gen(function* () {
            const { stdout } = yield* original.atoll("operator", "link", "--json")
            const browser = new Browser(port)
            const [, code] = /#link=([\w-]+)/.exec(stdout)!
            yield* Effect.promise(() => browser.console("POST", "/operator/sign-in", { code }))
            return (method: string) => Effect.promise(() => browser.console(method, "/operator/backups"))
          })
        const before = yield* operator(first.port)
        const started = yield* before("POST")
        assert.strictEqual(started.status, 200, started.text)
        const name = (started.json.said as string).split(" ")[0]!
        const archive = join(dataDir, "backups", name)
        yield* Effect.promise(async () => {
          first.child.kill("SIGKILL")
          await once(first.child, "exit")
        })
        assert.isFalse(existsSync(archive), "the service was killed while the archive was written")

        const second = yield* original.start
        const after = yield* operator(second.port)
        const { json } = yield* until(after("GET"), ({ json }) => json.lastRun.state !== "writing")
        assert.strictEqual(json.lastRun.state, "done", json.lastRun.said)
        assert.deepStrictEqual([json.backups[0].name, json.backups[0].verifiedAt === null], [name, false])
        const restored = yield* copy.atoll("restore", archive, "--json")
        assert.deepInclude(JSON.parse(restored.stdout), { volumes: 1 }, restored.stderr)
      }).pipe(Effect.scoped),
    4 * withinMs
  )
})
