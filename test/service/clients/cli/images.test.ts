/** `atoll images`, `atoll sandbox create --image` and `atoll run --image`, as a customer types them, on simulated machines. */
import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { scopes } from "../../../../schemas/Access.ts"
import { withinMs } from "../../../support/commandLine.ts"
import { compiledOnce } from "../../../support/compiledOnce.ts"
import { isOverAFleet } from "../../../support/fleet/isOverAFleet.ts"
import { TestApi } from "../../../support/http/TestApi.ts"

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

type Customer = (words: ReadonlyArray<string>, variables?: Readonly<Record<string, string>>) => Promise<Ended>

const main = resolve("clients/typescript/src/cli/main.ts")

/** The command line of a new account. */
const withCustomer = (use: (atoll: Customer) => Promise<void>) =>
  Effect.flatMap(TestApi, ({ newKey, port }) =>
    Effect.promise(async () => {
      const { secret } = await newKey(scopes, crypto.randomUUID())
      const login = { ATOLL_URL: `http://127.0.0.1:${port}`, ATOLL_API_KEY: secret }
      const own = { PATH: process.env["PATH"], ...compiledOnce, ...login }
      await use(
        (words, variables = {}) =>
          new Promise((done) => {
            const env = { ...own, ...variables }
            const child = execFile(process.execPath, [main, ...words], { env }, (_, stdout, stderr) =>
              done({ code: child.exitCode, stdout, stderr })
            )
            child.stdin?.end()
          })
      )
    })
  )

describe.skipIf(isOverAFleet)("the customer's command line", () => {
  layer(TestApi.layer(), { excludeTestServices: true })((it) => {
    it.effect(
      "pulls an image, shows and lists it, makes Sandboxes with it, and deletes it once nothing has it",
      () =>
        withCustomer(async (atoll) => {
          const reference = "registry.test/private/tools:1"
          const refused = await atoll(["images", "pull", reference])
          assert.strictEqual(refused.code, 1)
          assert.include(refused.stderr, "IMAGE_UNAUTHORIZED")
          const unnamed = await atoll(["images", "pull", reference, "--username", "robot"])
          assert.deepStrictEqual([unnamed.code, unnamed.stdout], [2, ""])
          const words = ["images", "pull", reference, "--name", "tools", "--username", "robot"]
          const pulled = await atoll(words, { ATOLL_REGISTRY_PASSWORD: "hidden" })
          assert.match(pulled.stdout, /^img_\w{26}\n$/)
          assert.deepStrictEqual([pulled.code, pulled.stderr], [0, ""])
          const id = pulled.stdout.trim()
          const { image } = JSON.parse((await atoll(["images", "show", "tools", "--json"])).stdout)
          assert.deepInclude(image, { id, name: "tools", status: "ready", reference })
          const listed = await atoll(["images", "list", "--status", "ready"])
          assert.match(listed.stdout, /^ID +NAME +STATUS +STORED +AGE +OF +REFERENCE\nimg_\w+ +tools +ready +4/)
          const made = JSON.parse((await atoll(["sandbox", "create", "--image", "tools", "--json"])).stdout)
          assert.deepInclude(made.sandbox, { imageId: id, status: "running" })
          const ran = await atoll(["run", "--image", "tools", "--", "env", "IMAGE_REFERENCE"])
          assert.deepStrictEqual([ran.code, ran.stdout.includes(reference)], [0, true])
          const used = await atoll(["images", "delete", "tools"])
          assert.deepStrictEqual([used.code, used.stdout], [1, ""])
          assert.strictEqual((await atoll(["sandbox", "delete", made.sandbox.id])).code, 0)
          const removed = await atoll(["images", "delete", "tools"])
          assert.deepStrictEqual([removed.code, removed.stdout], [0, `${id} (tools) is deleted.\n`])
        }),
      withinMs
    )

    it.effect(
      "loads an image of a file, once for each key",
      () =>
        withCustomer(async (atoll) => {
          const folder = mkdtempSync(join(tmpdir(), "atoll-load-"))
          const file = join(folder, "image.tar")
          writeFileSync(file, "an archive")
          const words = ["images", "load", file, "--name", "loaded", "--idempotency-key", "loaded once"]
          const loaded = await atoll(words)
          assert.deepStrictEqual([loaded.code, loaded.stderr], [0, ""])
          assert.strictEqual((await atoll(words)).stdout, loaded.stdout)
          const { image } = JSON.parse((await atoll(["images", "show", "loaded", "--json"])).stdout)
          const digest = `sha256:${createHash("sha256").update("an archive").digest("hex")}`
          assert.deepInclude(image, { id: loaded.stdout.trim(), status: "ready", reference: null, digest })
          const missing = await atoll(["images", "load", join(folder, "none.tar")])
          assert.deepStrictEqual([missing.code, missing.stdout], [1, ""])
          assert.include(missing.stderr, "none.tar")
          rmSync(folder, { recursive: true })
        }),
      withinMs
    )
  })
})
