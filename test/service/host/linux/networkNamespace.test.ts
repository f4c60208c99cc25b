import { execFileSync, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { closeSync, openSync, readFileSync } from "node:fs"
import { networkInterfaces } from "node:os"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { FLOWS_MAX, flowObstacle } from "../../../../src/host/linux/flowBound.ts"
import { connectNetwork, routeCommands } from "../../../../src/host/linux/networkNamespace.ts"
import { goneWithin, isAlive, signal } from "../../../../src/host/linux/ProcessIdentity.ts"
import { networkObstacle, probe } from "../../../../src/host/namespace/probe.ts"
import { specialRanges } from "../../../support/host/linux/specialRanges.ts"
import { isRoot, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"

const { ok } = await Effect.runPromise(probe)

const uncounted = unusable ?? (isRoot ? (networkObstacle() ?? flowObstacle()) : "another process's network needs root")

/** Sends from one socket to so many addresses. Prints how often the kernel accepted it, and its last error. */
const sendToMany = (count: number): string => `
import errno, socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
taken, last = 0, 0
for i in range(${count}):
  try:
    s.sendto(b"x", ("45.0.%d.%d" % (i >> 8, i & 255), 9)); taken += 1
  except OSError as e: last = e.errno
print(taken, errno.errorcode.get(last))`

describe("network namespace", () => {
  it.runIf(ok && process.getuid?.() === 0)("leaves the machine's named network namespaces mounted", async () => {
    const name = `atoll-test-${randomBytes(6).toString("hex")}`
    execFileSync("ip", ["netns", "add", name])
    const lifeFd = openSync("/dev/null", "r")
    const child = spawn("unshare", ["--net", "sleep", "60"], { stdio: "ignore" })
    try {
      const slirp = await connectNetwork({ pid: child.pid!, throughUserNamespace: false, lifeFd })
      const mounts = readFileSync("/proc/self/mounts", "utf8")
      signal(slirp, "SIGKILL")
      expect(mounts).toContain(`/${name} nsfs`)
    } finally {
      child.kill()
      closeSync(lifeFd)
      execFileSync("ip", ["netns", "del", name])
    }
  })

  it.skipIf(skipped(uncounted))(
    "limits a program's concurrent connections, before and after slirp4netns died",
    async () => {
      const lifeFd = openSync("/dev/null", "r")
      const child = spawn("unshare", ["--net", "sleep", "60"], { stdio: "ignore" })
      try {
        for (const time of ["before", "after"]) {
          const slirp = await connectNetwork({ pid: child.pid!, throughUserNamespace: false, lifeFd })
          const inside = (...argv: ReadonlyArray<string>) =>
            execFileSync("nsenter", ["--net", `--target=${child.pid}`, ...argv], { encoding: "utf8" })
          // No packet reaches the internet: every one is dropped after the count.
          const drop = ["pref", "1", "protocol", "ip", "bpf", "da", "bytecode", "1,6 0 0 2,"]
          inside("tc", "filter", "add", "dev", "tap0", "egress", ...drop)
          const said = inside("python3", "-c", sendToMany(FLOWS_MAX + 100))
          signal(slirp, "SIGKILL")
          // Its device is there as long as it is.
          expect(await goneWithin(() => isAlive(slirp), 10_000)).toBe(true)
          expect(said, time).toBe(`${FLOWS_MAX} EPERM\n`)
        }
      } finally {
        child.kill()
        closeSync(lifeFd)
      }
    }
  )

  it("changes nothing for a process that has not entered a new network namespace", async () => {
    const before = Object.keys(networkInterfaces())
    const lifeFd = openSync("/dev/null", "r")
    const child = spawn("sleep", ["60"], { stdio: "ignore" })
    try {
      const connected = connectNetwork({ pid: child.pid!, throughUserNamespace: false, lifeFd, enterTimeoutMs: 50 })
      await expect(connected).rejects.toThrow("stayed in the service's network namespace")
      expect(Object.keys(networkInterfaces())).toEqual(before)
    } finally {
      child.kill()
      closeSync(lifeFd)
    }
  })

  it("refuses the host's own addresses and every special-purpose range, except the name server", () => {
    const commands = routeCommands(["192.88.99.7", "192.88.99.7"])
    for (const range of specialRanges) expect(commands).toContain(`route replace prohibit ${range}\n`)
    expect(commands.match(/192\.88\.99\.7/g)?.length).toBe(1)
    expect(commands).toContain("route replace 10.0.2.3/32 dev tap0\n")
    // A wider address would bring a route to the gateway.
    expect(commands.match(/address add \S+/g)).toEqual(["address add 10.0.2.100/32"])
    expect(commands.indexOf("prohibit")).toBeLessThan(commands.indexOf("tap0"))
  })
})
