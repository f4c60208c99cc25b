/** The test networks of fleets behave as their tests rely on. */
import { once } from "node:events"
import { existsSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it } from "vitest"
import { clearAbandoned, folderPrefix } from "../../support/fleet/leftovers.ts"
import { Net } from "../../support/fleet/Net.ts"
import { Program } from "../../support/Program.ts"
import { untilFound } from "../../support/until.ts"

const port = "7777"
const soonMs = 60_000
/** Bytes are sent every 20 ms; those in flight may arrive before. */
const silenceMs = 400

/** Less than a slow link takes, and more than a fast one on a machine with a moment for it. */
const leastMs = 100

const connectedAfter = async (address: string): Promise<number> => {
  const began = performance.now()
  const socket = connect(Number(port), address)
  await once(socket, "connect")
  socket.destroy()
  return performance.now() - began
}

const refusal = await Net.refusal()
if (refusal !== null) console.warn(`Skipped: ${refusal}`)

describe.skipIf(refusal !== null)("a network of namespaces", () => {
  it("cuts open connections silently, one way and both, and heals", async () => {
    const net = await Net.make()
    const [echo, caller] = [new Program(), new Program()]
    try {
      const one = await net.join("one")
      const other = await net.join("other")
      echo.spawn(["test/system/fleet/fixtures/echo.ts", one.address, port], {}, one.enter)
      const heard = () => Number(caller.log.trim().split(" ").at(-1))
      const isHearing = async () => {
        const before = heard()
        await untilFound(() => heard() > before, { withinMs: soonMs, otherwise: () => caller.log })
      }
      const isDeaf = async () => {
        const end = Date.now() + soonMs
        for (let before = -1; before !== heard(); await sleep(silenceMs)) {
          assert.isBelow(Date.now(), end, caller.log)
          before = heard()
        }
      }
      await untilFound(
        () => {
          if (!caller.isUp) caller.spawn(["test/system/fleet/fixtures/caller.ts", one.address, port], {}, other.enter)
          return caller.log.includes("heard")
        },
        { withinMs: soonMs, otherwise: () => caller.log }
      )
      for (const cut of [
        () => net.cut("one", "other"),
        () => net.cutOneWay("one", "other"),
        () => net.cutOneWay("other", "one"),
        () => net.isolate("other")
      ]) {
        await cut()
        await isDeaf()
        await net.heal()
        await isHearing()
      }
      await net.slow("one")
      await isHearing()
      // What is sent to it is not delayed, its answers are.
      for (let times = 0; times < 5; times++) assert.isAtLeast(await connectedAfter(one.address), leastMs)
      await net.heal()
      await isHearing()
      for (const end = Date.now() + soonMs; (await connectedAfter(one.address)) >= leastMs; )
        assert.isBelow(Date.now(), end)
      assert.notInclude(caller.log, "closed")
    } finally {
      await Promise.all([echo.kill(), caller.kill()])
      await net.end()
    }
  })

  it("a run removes what a killed run left, and nothing of other runs", async () => {
    const lost = new Program()
    try {
      lost.spawn(["test/system/fleet/fixtures/abandoned.ts"])
      await untilFound(() => lost.log.includes("\n"), { withinMs: soonMs, otherwise: () => lost.log })
      const [id, link] = lost.log.trim().split(" ")
      const left = () => [existsSync(join(tmpdir(), `${folderPrefix}${id}`)), existsSync(`/sys/class/net/${link}`)]
      clearAbandoned()
      assert.deepStrictEqual(left(), [true, true])
      await lost.kill()
      clearAbandoned()
      await untilFound(() => left().every((is) => !is), { withinMs: soonMs, otherwise: () => String(left()) })
    } finally {
      await lost.kill()
    }
  })
})
