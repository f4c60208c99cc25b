/** A host that is killed during its trial mount of an image has no leftovers after it has started again. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { isMounted } from "../../../../src/host/linux/mountTable.ts"
import { identify } from "../../../../src/host/linux/ProcessIdentity.ts"
import { closeVolume, openVolume } from "../../../../src/host/namespace/volume.ts"
import { canMountImages } from "../../../../src/host/namespace/volumeTrial.ts"
import { isRoot, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"

const uuid = "aaaaaaaa-1111-4222-8333-bbbbbbbbbbbb"
/** It has the pid of a live process, but is another process. */
const killed = `trial-${process.pid}-1-${uuid}`
const earlier = `trial-${uuid}`
const atWork = `trial-${process.pid}-${identify(process.pid)!.startTime}-${uuid}`
const another = "trial-sandbox"

describe.skipIf(skipped(unusable) || !isRoot)("the trial mount of an image", () => {
  it("removes the leftovers of killed trials, and nothing else", async () => {
    const folder = mkdtempSync(join(tmpdir(), "atoll-trial-"))
    const placeOf = (name: string) => ({ image: join(folder, `${name}.img`), folder: join(folder, name) })
    const mounted = () => [killed, earlier, atWork, another].filter((name) => isMounted(join(folder, name)))
    try {
      for (const name of [killed, earlier, atWork, another]) await openVolume(placeOf(name), 1024 ** 2, null)
      assert.deepStrictEqual(mounted(), [killed, earlier, atWork, another])
      assert.isTrue(await canMountImages(folder))
      assert.deepStrictEqual(mounted(), [atWork, another])
      assert.deepStrictEqual(readdirSync(folder).sort(), [atWork, `${atWork}.img`, another, `${another}.img`].sort())
    } finally {
      for (const name of mounted()) await closeVolume(placeOf(name))
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
