/** When a Sandbox's mount namespace may be changed from outside: never while it still has the host's mounts. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { copyFileSync, writeFileSync } from "node:fs"
import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "@effect/vitest"
import { childrenOf } from "../../../../src/host/linux/ProcessIdentity.ts"
import { type AgentStart, builtRoot } from "../../../../src/host/namespace/builtRoot.ts"
import { SandboxState } from "../../../../src/host/namespace/SandboxState.ts"
import { inFolder } from "../../../support/host/linux/inFolder.ts"
import { isRoot } from "../../../support/host/namespace/TestHost.ts"
import { untilSeen } from "../../../support/until.ts"

const spawner = fileURLToPath(new URL("../../../../src/host/linux/native/spawner.x64", import.meta.url))

/** `child` as PID 1 of a Sandbox. */
const asked = async (folder: string, child: ChildProcess) => {
  const state = new SandboxState(folder, "sandbox")
  await mkdir(state.folder, { recursive: true })
  writeFileSync(state.status, JSON.stringify({ "child-pid": child.pid }).replace(":", ": "))
  const told = { agent: "awaited" as AgentStart, times: 0, found: 0 }
  const built = builtRoot(state, () => {
    told.times++
    return told.agent
  }).then(({ pid }) => {
    told.found = pid
  })
  built.catch(() => {})
  const askedOften = () =>
    untilSeen(
      () => told.times,
      (times) => times > 10 || told.found !== 0,
      { withinMs: 10_000 }
    )
  return { told, built, askedOften }
}

const ended = async (child: ChildProcess) => {
  const exit = once(child, "exit")
  child.kill("SIGKILL")
  await exit
}

describe("the root of a Sandbox that boots", () => {
  it("is not built while it is the host's, and a boot that fails then changes nothing in it", () =>
    inFolder(async (folder) => {
      const child = spawn("/bin/sh", ["-c", "sleep 60 & wait"], { detached: true, stdio: "ignore" })
      try {
        await untilSeen(
          () => childrenOf(child.pid!),
          (children) => children.length === 1
        )
        const { told, built, askedOften } = await asked(folder, child)
        await askedOften()
        expect(told.found).toBe(0)
        told.agent = "failed"
        await expect(built).rejects.toThrow("ended during its boot")
      } finally {
        process.kill(-child.pid!, "SIGKILL")
      }
    }))

  it.skipIf(!isRoot || process.arch !== "x64")(
    "is not built while mounts may follow, and is when the agent answers",
    () =>
      inFolder(async (folder) => {
        const root = join(folder, "root")
        await mkdir(root)
        copyFileSync(spawner, join(root, "program"))
        const child = spawn("chroot", [root, "/program"], { stdio: ["pipe", "ignore", "ignore"] })
        try {
          const { told, built, askedOften } = await asked(folder, child)
          await askedOften()
          expect(told.found).toBe(0)
          told.agent = "answered"
          await built
          expect(told.found).toBe(child.pid)
        } finally {
          await ended(child)
        }
      })
  )
})
