/** Root of a Sandbox that builds Dockerfiles tries to leave it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { missingPackages } from "../../../src/host/linux/programs.ts"
import { Runtime } from "../../../src/runtime/Runtime.ts"
import { freshDriver, isRoot, networkUnusable, skipped } from "../../support/host/namespace/TestHost.ts"
import { builderAttacks } from "../../support/image/builderAttacks.ts"
import { commandSpec, run } from "../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../support/runtime/contract/sandboxSpec.ts"

const missing =
  networkUnusable ??
  (isRoot ? null : "builds need root") ??
  (process.arch === "x64" ? null : "the calls have x86-64's numbers") ??
  (missingPackages({ buildah: "buildah" }).length > 0 ? "buildah is not here" : null)

const builder = { builder: true, networkEnabled: true, volumeBytes: 256 * 1024 ** 2 } as const

/** Each line's name and result. */
const attacked = (mode: "own" | "shared") =>
  Effect.gen(function* () {
    const driver = yield* Runtime
    yield* driver.provision(sandboxSpec("builder", builder))
    const guest = yield* driver.guest("builder", 1)
    const { stdout, stderr } = yield* run(guest, commandSpec(["python3", "-c", builderAttacks, mode]))
    const lines = stdout.trim().split("\n")
    return { guest, stderr, results: new Map(lines.map((it) => [it.replace(/ \S+$/, ""), it.replace(/^.* /, "")])) }
  })

describe.skipIf(skipped(missing))("root of a Sandbox that builds", () => {
  for (const mode of ["shared", "own"] as const) {
    it.live(
      mode === "own"
        ? "can neither uncover, nor take away, nor write in its own mount namespace what the outer one hides and locks"
        : "has no power over the mounts, the network, the cgroups and the names of its Sandbox",
      () =>
        Effect.gen(function* () {
          const { results, stderr } = yield* attacked(mode)
          assert.strictEqual(stderr, "")
          const harmless = ["chroot", "chroot out", "outside", "limits", "memories"]
          const expected = mode === "own" ? [...harmless, "unshare", "private", "covered proc", "hostname"] : harmless
          const done = [...results].filter(([, result]) => result === "0").map(([name]) => name)
          assert.deepStrictEqual(done.sort(), expected.sort())
          assert.isAbove(Number(results.get("limits seen")), 0)
        }).pipe(Effect.provide(freshDriver())),
      60_000
    )
  }
})
