/** A time-out for a process does not run while the host gives that process no processor. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { Patience, patienceEnds } from "../../../../src/host/linux/starvation.ts"
import { BootPort } from "../../../../src/host/qemu/BootPort.ts"

/** Sharers of one processor: the first, of least weight, gets hardly any of it. */
const spinners: Array<ChildProcess> = []
const spin = async (nice: number): Promise<ChildProcess> => {
  const child = spawn("taskset", ["-c", "0", "nice", "-n", String(nice), "sh", "-c", "echo; while :; do :; done"])
  spinners.push(child)
  await once(child.stdout!, "data")
  return child
}
let starved: { readonly pid: number }

beforeAll(async () => {
  starved = { pid: (await spin(19)).pid! }
  await spin(0)
  await spin(0)
})
afterAll(() => {
  for (const child of spinners) child.kill("SIGKILL")
})

describe("patience", () => {
  it("lasts for a process that gets no processor, and runs out for an idle one", async () => {
    const idle = spawn("sleep", ["100"])
    spinners.push(idle)
    const [kept, spent] = [new Patience(starved, 400), new Patience({ pid: idle.pid! }, 400)]
    const began = performance.now()
    while (spent.leftMs() > 0) await sleep(20)
    expect(performance.now() - began).toBeLessThan(2_000)
    expect(kept.leftMs()).toBeGreaterThan(0)
  })

  it("runs out for a process that is gone", () => Effect.runPromise(patienceEnds({ pid: 2 ** 22 + 1 }, 10)))

  it("also ends for a process that never gets a processor", async () => {
    const began = performance.now()
    await Effect.runPromise(patienceEnds(starved, 60))
    // Ten time-outs, and the host's own delay.
    expect(performance.now() - began).toBeGreaterThan(60)
  })

  it("lets a starved machine answer after its time-out", async () => {
    const path = join(tmpdir(), `atoll-boot-${process.pid}.sock`)
    const asked = Promise.withResolvers<{ readonly guest: Socket; readonly token: string }>()
    const server = createServer((guest) => {
      guest.on("data", (line) => asked.resolve({ guest, token: String(line).trim().split(" ")[1]! }))
    }).listen(path)
    await once(server, "listening")
    const socket = connect(path)
    const boot = new BootPort(socket, starved)
    try {
      const flushed = boot.flush(300)
      const { guest, token } = await asked.promise
      await sleep(600)
      guest.write(`${token} ready\n`)
      await flushed
    } finally {
      boot.close()
      server.close()
    }
  })
})
