/** The agent without a delegated cgroup, as on a host without root: it tells process trees apart by marks. */
import { type ChildProcess, spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe } from "@effect/vitest"
import { Effect } from "effect"
import { makeAgentGuest } from "../../../src/runtime/agentClient/AgentGuest.ts"
import { makeAgentSession } from "../../../src/runtime/agentClient/AgentSession.ts"
import { agentBundle } from "../../../src/runtime/agentClient/agentBundle.ts"
import { skipped, unusable } from "../../support/host/namespace/TestHost.ts"
import { processContract } from "../../support/runtime/contract/processContract.ts"

describe.skipIf(skipped(unusable))("commands without cgroups", () => {
  const folder = mkdtempSync(join(tmpdir(), "atoll-agent-"))
  const socket = join(folder, "agent.sock")
  const session = makeAgentSession({
    connect: () =>
      new Promise((resolve, reject) => {
        const it = connect(socket, () => resolve(it)).on("error", reject)
      })
  })
  let bwrap: ChildProcess

  beforeAll(async () => {
    const agent = await agentBundle(folder)
    mkdirSync(join(folder, "workspace"))
    bwrap = spawn(
      "bwrap",
      [
        ...["--unshare-pid", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"],
        ...["--tmpfs", "/run", "--bind", folder, folder, "--tmpfs", "/mnt", "--chdir", "/"],
        ...["--setenv", "ATOLL_AGENT_LISTEN", `unix:${socket}`, "--setenv", "ATOLL_AGENT_GENERATION", "1"],
        ...["--setenv", "ATOLL_AGENT_WORKSPACE", join(folder, "workspace"), "--unshare-user"],
        ...["--", process.execPath, agent]
      ],
      { stdio: ["ignore", "pipe", "inherit"] }
    )
    await new Promise<void>((resolve, reject) => {
      bwrap.stdout!.once("data", () => resolve())
      bwrap.once("exit", (code) => reject(new Error(`bwrap ended with ${code}`)))
    })
  })
  afterAll(async () => {
    session.close()
    const gone = new Promise((resolve) => bwrap.once("exit", resolve))
    bwrap.kill("SIGKILL")
    await gone
    rmSync(folder, { recursive: true, force: true })
  })

  processContract("bare agent, trees by mark", Effect.succeed(makeAgentGuest(session)), join(folder, "workspace"))
})
