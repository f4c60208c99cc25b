/** The same contract in real virtual machines, where the agent is root and the files are the user's. */
import { describe, expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { layer as runtime } from "../../../src/host/qemu/QemuRuntime.ts"
import { fileContract } from "../../support/files/fileContract.ts"
import { entry, tape } from "../../support/files/Tape.ts"
import { TestService } from "../../support/files/TestService.ts"
import { isOverAFleet } from "../../support/fleet/isOverAFleet.ts"
import { machineSettings, TIMEOUT_MS, unusable } from "../../support/host/qemu/TestMachines.ts"

/** Two Sandboxes boot concurrently, under emulation. */
const timeoutMs = 2 * TIMEOUT_MS
const environment = {
  ...machineSettings,
  // On each host of a fleet they would boot beside the tests.
  ATOLL_VM_SPARES: isOverAFleet ? "0" : "1"
}

describe.skipIf(unusable !== null)("virtual machines", () => {
  fileContract("virtual machines", runtime, { timeoutMs, environment })

  layer(TestService.layer(runtime, environment), { excludeTestServices: true, timeout: timeoutMs })(
    "their agent",
    (it) => {
      it.effect(
        "is root, and gives what it makes to the Sandbox's user",
        () =>
          Effect.flatMap(TestService, ({ files, send, sandboxId }) =>
            Effect.promise(async () => {
              await files("POST", "/directory", { path: "/workspace/mine/sub" }, { body: { recursive: true } })
              await files("PUT", "/content", { path: "/workspace/mine/f" }, { body: Buffer.from("from outside") })
              const body = tape(
                entry({ name: "unpacked/f", mode: 0o600 }, "x"),
                entry({ name: "unpacked/l", type: "2", target: "f" })
              )
              const tar = { "content-type": "application/x-tar" }
              expect(
                (await files("POST", "/archive", { path: "/workspace/mine" }, { body, headers: tar })).status
              ).toBe(200)
              const unpacked = ["unpacked", "unpacked/f", "unpacked/l"].map((name) => `mine/${name}`).join(" ")
              const argv = ["sh", "-c", `stat -c '%U %a' mine mine/sub mine/f; id -un; stat -c '%U' ${unpacked}`]
              const { stdout } = (await send("POST", `/sandboxes/${sandboxId}/execute`, { body: { argv } })).json.result
              const user = stdout.split("\n")[3]
              expect(user).not.toBe("root")
              const made = `${user}\n`.repeat(3)
              expect(stdout).toBe(`${user} 755\n${user} 755\n${user} 644\n${user}\n${made}`)
            })
          ),
        timeoutMs
      )
    }
  )
})
