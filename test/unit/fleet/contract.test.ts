/** `npm run test:fleet` covers every suite of the HTTP contract. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "vitest"
import { inProcess, overAFleet } from "../../support/fleet/contract.ts"

const root = join(import.meta.dirname, "../../..")
const serves = /\b(TestApi|ServedAtoll|TestService)\.(layer|on)\(|\b(fileContract|namespaceAtoll|serveGateways)\(/

it("every suite that serves the API is run over a fleet, or listed with a reason", () => {
  const suites = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => join("test", name))
    .filter((name) => serves.test(readFileSync(join(root, name), "utf8")))
  assert.deepStrictEqual([...overAFleet, ...Object.keys(inProcess)].toSorted(), suites.toSorted())
})
