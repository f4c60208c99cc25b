/** `atoll login`, `whoami` and `logout`. */
import { existsSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, layer } from "@effect/vitest"
import { Layer } from "effect"
import { freePort } from "../../../support/freePort.ts"
import { freshDriver, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { ServedAtoll } from "../../../support/ServedAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { asCustomer, Customer } from "./Customer.ts"

const settings = { ATOLL_VOLUME_BYTES: String(64 * 1024 ** 2) }
const served = ServedAtoll.layer(freshDriver(settings), settings).pipe(Layer.provideMerge(TestDatabase.layer))

describe.skipIf(skipped(unusable))("a login of the customer's command line", () => {
  layer(Customer.layer.pipe(Layer.provideMerge(served)), { excludeTestServices: true })((it) => {
    it.effect("stores a valid key where only its user can read it, and sends it only to the service", () =>
      asCustomer(async ({ atoll, bare, folder, key, url }) => {
        const env = { ...bare, XDG_CONFIG_HOME: join(folder, "config") }
        const path = join(folder, "config/atoll/credentials.json")
        const nobody = await atoll(["sandbox", "list"], { env })
        assert.strictEqual(nobody.code, 1)
        assert.match(nobody.stderr, /Nobody is logged in\. .*`atoll login`/)
        const wrong = await atoll(["login", "--url", url], { env, input: `${key.slice(0, -4)}0000\n` })
        assert.strictEqual(wrong.code, 1)
        assert.match(wrong.stderr, /does not take the key …0000\. Nothing was stored\./)
        assert.isFalse(existsSync(path))
        const right = await atoll(["login", "--url", url], { env, input: `${key}\n` })
        const read = `Logged in to ${url} as default with the key …${key.slice(-4)}. The key may: `
        assert.deepStrictEqual([right.code, right.stderr], [0, ""])
        assert.include(right.stdout, read)
        assert.notInclude(right.stdout, key)
        assert.strictEqual(statSync(path).mode & 0o777, 0o600)
        assert.deepStrictEqual(JSON.parse(readFileSync(path, "utf8")), { url, apiKey: key })
        assert.strictEqual((await atoll(["sandbox", "list"], { env })).code, 0)
        const elsewhere = `http://127.0.0.1:${await freePort()}`
        const other = await atoll(["sandbox", "list"], { env: { ...env, ATOLL_URL: elsewhere } })
        assert.strictEqual(other.code, 1)
        assert.include(other.stderr, `is for ${url}, and is not sent to ${elsewhere}`)
        const wins = await atoll(["sandbox", "list"], { env: { ...env, ATOLL_API_KEY: "atoll_live_wrong" } })
        assert.strictEqual(wins.code, 1)
        assert.match(wins.stderr, /does not take this API key.*ATOLL_API_KEY/)
        const who = await atoll(["whoami"], { env })
        assert.match(who.stdout, /^account +default \(acc_/)
        for (const part of [url, `…${key.slice(-4)}`, path, "sandbox:execute"]) assert.include(who.stdout, part)
        assert.notInclude(who.stdout, key)
        assert.deepStrictEqual(await atoll(["whoami", "--key"], { env }), { code: 0, stdout: `${key}\n`, stderr: "" })
        assert.strictEqual((await atoll(["logout"], { env })).stdout, "Logged out.\n")
        assert.isFalse(existsSync(path))
        assert.match((await atoll(["whoami"], { env })).stderr, /Nobody is logged in/)

        // In either order, as words or lines; a key is no argument.
        for (const [words, input] of [
          [[], `${url}\n${key}\n`],
          [[], `ATOLL_API_KEY=${key}\nexport ATOLL_URL="${url}"\n`],
          [[url], `${key}\n`]
        ] as const) {
          const given = await atoll(["login", ...words], { env, input })
          assert.deepStrictEqual([given.code, given.stderr], [0, ""], input)
          assert.include(given.stdout, read)
          assert.deepStrictEqual(JSON.parse(readFileSync(path, "utf8")), { url, apiKey: key })
          await atoll(["logout"], { env })
        }
        for (const [words, input, said] of [
          [[url, key], "", /is an API key\. As an argument it stays in the shell's history/],
          [[], `${key}\n${key}\n`, /two keys/],
          [[], `${url}\n`, /No key was given/]
        ] as const) {
          const refused = await atoll(["login", ...words], { env, input })
          assert.isAbove(refused.code!, 0)
          assert.match(refused.stderr, said)
          assert.isFalse(existsSync(path))
        }
      })
    )
  })
})
