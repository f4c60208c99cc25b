/** A sweep that goes on where another one ended. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, it } from "vitest"
import { MetEffects } from "../../support/crash/effects/MetEffects.ts"

it("knows the effects that an earlier sweep met, each with its scenario and its strike", () => {
  const folder = mkdtempSync(join(tmpdir(), "atoll-met-"))
  try {
    const file = join(folder, "met")
    new MetEffects(file).add("crash", "create", "after COMMIT #1")
    const met = new MetEffects(file)
    assert.isTrue(met.has("crash", "create", "after COMMIT #1"))
    assert.isFalse(met.has("lose", "create", "after COMMIT #1"))
    assert.isFalse(met.has("crash", "delete", "after COMMIT #1"))
    assert.isFalse(new MetEffects(null).has("crash", "create", "after COMMIT #1"))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
