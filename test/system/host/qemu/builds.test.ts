/** Dockerfiles, built in virtual machines by the buildah of their guest. */
import { existsSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { missingPackages } from "../../../../src/host/linux/programs.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { busybox } from "../../../support/host/image/busyboxImage.ts"
import { freshDriver, TIMEOUT_MS, unusable } from "../../../support/host/qemu/TestMachines.ts"
import { base, building, buildsAndBoots, built } from "../../../support/runtime/contract/buildContract.ts"
import { output } from "../../../support/runtime/contract/commands.ts"

const obstacle =
  unusable ??
  (missingPackages({ mksquashfs: "squashfs-tools" }).length > 0 ? "squashfs-tools is not here" : null) ??
  (existsSync(busybox) ? null : "busybox-static is not here")

describe.skipIf(obstacle !== null)("a build in a virtual machine", () => {
  it.live(
    "has stages, arguments, ignored files, owners and users, and a machine boots from its image",
    () => buildsAndBoots(TIMEOUT_MS).pipe(Effect.provide(freshDriver())),
    2 * TIMEOUT_MS
  )

  it.live(
    "has layers that share their files, tells by its exit code that a step failed, and ends with its command",
    () =>
      Effect.gen(function* () {
        const runtime = yield* Runtime
        const guest = yield* building("one")
        const large = `${base}RUN dd if=/dev/zero of=/big bs=1M count=50\nRUN true\nRUN exit 7\n`
        const failed = yield* built(guest, large, {}, { timeoutMs: TIMEOUT_MS })
        assert.notStrictEqual(failed.exited.exitCode, 0)
        // Of its 50 MiB there is one copy, in the first of three steps.
        assert.isBelow(Number(yield* output(guest, "sudo du -sm /tmp/atoll-build | cut -f1")), 100)
        const hanging = yield* built(guest, `${base}RUN sleep 3600\n`, {}, { timeoutMs: 30_000 })
        assert.isTrue(hanging.exited.timedOut)
        assert.strictEqual(yield* output(guest, "pgrep -x sleep || echo none"), "none")
        yield* runtime.destroy("one")
        assert.deepStrictEqual(yield* runtime.inventory, [])
      }).pipe(Effect.provide(freshDriver())),
    2 * TIMEOUT_MS
  )
})
