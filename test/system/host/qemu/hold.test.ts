/** A machine whose volume another process reads. */
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { copyFileSync, existsSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Schedule, Scope } from "effect"
import { connectUnix } from "../../../../src/host/linux/unixSocket.ts"
import { holdMachineVolume } from "../../../../src/host/qemu/machineHold.ts"
import { Qmp } from "../../../../src/host/qemu/Qmp.ts"
import { processOf } from "../../../../src/host/qemu/recordedProcess.ts"
import { SandboxFolder } from "../../../../src/host/qemu/SandboxFolder.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { destroyAll, driverOn, scopedFolder, TIMEOUT_MS, unusable } from "../../../support/host/qemu/TestMachines.ts"
import { output } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"

const served = () => Promise.resolve(true)
const notServed = () => Promise.resolve(false)

/** The content of a file of a volume, after the journal was replayed; throws where the file system is not whole. */
const contentIn = (image: string, scratch: string, path: string): string => {
  copyFileSync(image, scratch)
  try {
    execFileSync("e2fsck", ["-fy", scratch], { stdio: "pipe" })
  } catch (cause) {
    // 1: the journal was replayed.
    if ((cause as { readonly status: number }).status !== 1) throw cause
  }
  execFileSync("e2fsck", ["-fn", scratch], { stdio: "pipe" })
  return execFileSync("debugfs", ["-R", `cat ${path}`, scratch], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"]
  })
}

const holder = (path: string, sandboxId: string) => {
  const source = (name: string) => JSON.stringify(join(import.meta.dirname, "../../../../src/host/qemu", name))
  const program = `import { holdMachineVolume } from ${source("machineHold.ts")}
    import { SandboxFolder } from ${source("SandboxFolder.ts")}
    await holdMachineVolume(new SandboxFolder(${JSON.stringify(path)}, ${JSON.stringify(sandboxId)}), async () => true)
    console.log("held")
    setInterval(() => {}, 1000)`
  return spawn(process.execPath, ["--input-type=module-typescript", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"]
  })
}

describe.skipIf(unusable !== null)("a virtual machine whose volume is held", () => {
  it.live(
    "has flushed everything and waits, goes on when it is released, even after a kill of either process, and starts only then",
    () =>
      Effect.gen(function* () {
        const dataDir = yield* scopedFolder
        const root = join(dataDir, "runtime/qemu")
        const folder = new SandboxFolder(root, "held")
        const image = folder.file("volume")
        const scopes: Array<Scope.Closeable> = []
        const begin = Effect.gen(function* () {
          const scope = yield* Scope.make()
          scopes.push(scope)
          const driver = Context.get(yield* Layer.buildWithScope(driverOn(dataDir), scope), Runtime)
          return { driver, end: Scope.close(scope, Exit.void) }
        })
        yield* Effect.addFinalizer(() =>
          Effect.gen(function* () {
            for (const scope of scopes) yield* Scope.close(scope, Exit.void)
            const { driver, end } = yield* begin
            yield* destroyAll(driver)
            yield* end
          }).pipe(Effect.orDie)
        )
        const first = yield* begin
        yield* first.driver.provision(sandboxSpec("held"))
        const guest = yield* first.driver.guest("held", 1)
        const counted = (it: typeof guest) => Effect.map(output(it, "cat count | wc -l"), Number)
        yield* output(guest, "echo kept > file; (while :; do echo x >> count; done) > /dev/null 2>&1 & sleep 0.1")

        // The machine goes on first, and answers before its note is removed.
        const isForgotten = Effect.repeat(
          Effect.sync(() => existsSync(`${image}.still`)),
          { schedule: Schedule.spaced(5), while: (isThere) => isThere }
        )

        const still = yield* Effect.promise(() => holdMachineVolume(folder, served))
        const writtenAt = statSync(image, { bigint: true }).mtimeNs
        assert.strictEqual(contentIn(image, join(dataDir, "scratch"), "file"), "kept\n")
        assert.strictEqual(statSync(image, { bigint: true }).mtimeNs, writtenAt)
        assert.isTrue(yield* Effect.promise(still.isStill))
        yield* Effect.promise(still.letGo)
        const before = yield* counted(guest)
        yield* Effect.repeat(counted(guest), { schedule: Schedule.spaced(5), until: (now) => now > before })

        const child = holder(root, "held")
        yield* Effect.promise(() => Promise.race([once(child.stdout, "data"), once(child, "exit")]))
        assert.isTrue(existsSync(`${image}.still`))
        child.kill("SIGKILL")
        yield* counted(guest)
        yield* isForgotten

        // As a service leaves it that is killed while it holds the machine.
        const { process } = (yield* Effect.promise(() => folder.read()))!
        yield* first.end
        yield* Effect.promise(async () => {
          const qmp = await Qmp.open(await connectUnix(folder.file("qmpSocket")), TIMEOUT_MS)
          writeFileSync(`${image}.still`, JSON.stringify({ token: "one", isPaused: true, process }))
          await qmp.execute("stop")
          qmp.close()
        })
        const second = yield* begin
        yield* counted(yield* second.driver.guest("held", 1))
        yield* isForgotten

        // A sleeping machine needs no process to hold it, and wakes when it is released.
        yield* second.driver.suspend("held", 1)
        const asleep = yield* Effect.promise(() => holdMachineVolume(folder, notServed))
        let isAwake = false
        const waking = yield* second.driver.provision(sandboxSpec("held")).pipe(
          Effect.tap(() => Effect.sync(() => (isAwake = true))),
          Effect.forkChild
        )
        yield* Effect.sleep(1_000)
        assert.isNull(processOf((yield* Effect.promise(() => folder.read()))!))
        assert.deepStrictEqual([isAwake, yield* Effect.promise(asleep.isStill)], [false, true])
        yield* Effect.promise(asleep.letGo)
        yield* Fiber.join(waking)
        yield* counted(yield* second.driver.guest("held", 1))
        // A running machine without a service cannot be held.
        const refused = yield* Effect.flip(Effect.tryPromise(() => holdMachineVolume(folder, notServed)))
        assert.include(String(refused.cause), "start Atoll")
      }).pipe(Effect.scoped),
    4 * TIMEOUT_MS
  )
})
