/**
 * PID 1 of a Sandbox, which bubblewrap leaves dumpable: out of reach of the programs inside, and harmless even to a
 * service that inspects one that was taken over.
 */
import { execFileSync, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, readlinkSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, assert, beforeAll, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Runtime } from "../../../../../src/runtime/Runtime.ts"
import {
  dataFolder,
  freshDriver,
  isRoot,
  networkUnusable,
  skipped,
  unusable
} from "../../../../support/host/namespace/TestHost.ts"
import { commandSpec, run, shell } from "../../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../../support/runtime/contract/sandboxSpec.ts"
import { upload } from "../../../../support/upload.ts"

const compiler = ["cc", "gcc", "tcc"].find((name) => spawnSync(name, ["--version"]).status === 0)
const noProgram =
  unusable ??
  (process.arch !== "x64"
    ? "The hostile program is for x86-64."
    : compiler === undefined
      ? "There is no C compiler."
      : null)
/** The life pipe's, in `bubblewrap.ts`. */
const descriptor = 7

describe.skipIf(skipped(noProgram))("PID 1 of a Sandbox", () => {
  const folder = mkdtempSync(join(tmpdir(), "atoll-takeover-"))
  const program = join(folder, "takeover")

  beforeAll(
    () => void execFileSync(compiler!, ["-O1", "-static", "-o", program, join(import.meta.dirname, "takeover.c")])
  )
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  layer(freshDriver(), { excludeTestServices: true })("attacked from inside", (it) => {
    it.effect("hides its memory, descriptors and environment from programs of the Sandbox", () =>
      Effect.gen(function* () {
        const driver = yield* Runtime
        yield* driver.provision(sandboxSpec("inmate"))
        const guest = yield* driver.guest("inmate", 1)
        yield* guest.files.write("/workspace/takeover", upload([readFileSync(program)]))
        const ended = yield* run(
          guest,
          shell(`chmod +x takeover; ./takeover 1 ${descriptor}; echo "memory $?"
            for name in mem environ fd maps root cwd task; do test -r /proc/1/$name && echo "$name is there"; done
            true`)
        )
        assert.strictEqual(ended.stdout.trim(), "memory 10")
        const alive = yield* run(guest, commandSpec(["true"]))
        assert.strictEqual(alive.exited.exitCode, 0)
        yield* driver.destroy("inmate")
      })
    )
  })

  it.skipIf(skipped(networkUnusable) || !isRoot)(
    "that was taken over gives a service that mends its network no terminal, and harms no neighbour",
    async () => {
      const data = dataFolder()
      const host = spawn(process.execPath, [join(import.meta.dirname, "fixtures/attended.ts"), data], {
        detached: true,
        stdio: ["pipe", "pipe", "inherit"]
      })
      try {
        const lines = createInterface({ input: host.stdout })[Symbol.asyncIterator]()
        const next = async () => JSON.parse((await lines.next()).value as string)
        const { init, slirp } = await next()
        // From outside and as root: no program inside can do it any more.
        assert.strictEqual(spawnSync(program, [String(init), String(descriptor)]).status, 0)
        const isTakenOver = () => readlinkSync(`/proc/${init}/fd/${descriptor}`).startsWith("/dev/pts/")
        for (let tries = 0; tries < 100 && !isTakenOver(); tries++) {
          // An orphan that ends wakes it.
          spawnSync("nsenter", ["--target", String(init), "--pid", "--", "sh", "-c", "(sleep 0.05 &) "])
          await sleep(100)
        }
        assert.isTrue(isTakenOver())
        // Its slirp4netns ended with the pipe.
        for (let tries = 0; tries < 100 && spawnSync("kill", ["-0", String(slirp)]).status === 0; tries++)
          await sleep(100)
        host.stdin.write("look\n")
        const seen = await next()
        assert.strictEqual(seen.terminal, 0)
        assert.isTrue(seen.neighbour)
        assert.notStrictEqual(seen.slirp, slirp)
        assert.strictEqual(seen.told.length, 1)
        host.stdin.end()
        const [code, signal] = await once(host, "exit")
        assert.deepStrictEqual([code, signal], [0, null])
      } finally {
        host.kill("SIGKILL")
        rmSync(data, { recursive: true, force: true })
      }
    }
  )
})
