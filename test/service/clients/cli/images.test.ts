/** `atoll images`, `atoll sandbox create --image` and `atoll run --image`, as a customer types them, on simulated machines. */
import { execFile } from "node:child_process"
import { resolve } from "node:path"
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
          assert.match(listed.stdout, /^ID +NAME +STATUS +STORED +AGE +REFERENCE\nimg_\w+ +tools +ready +4/)
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
  })
})
