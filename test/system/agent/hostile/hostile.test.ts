/**
 * The standing suite: an agent that was taken over lies in every field of every answer, beside a Sandbox of another
 * tenant.
 * Its own caller gets a typed fault (or an answer within the protocol's bounds), the other tenant gets exact answers in
 * time, and the service's memory does not grow.
 */
import fs from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { PassThrough } from "node:stream"
import { Effect, Exit, Stream } from "effect"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { routes } from "../../../../src/agent/wire.ts"
import { readClock } from "../../../../src/host/qemu/guestClock.ts"
import { agentHealth, makeAgentGuest } from "../../../../src/runtime/agentClient/AgentGuest.ts"
import type { Guest, GuestUnavailable } from "../../../../src/runtime/Guest.ts"
import { HostileAgent } from "../../../support/agent/hostile/HostileAgent.ts"
import { frameLies, honestEnd, jsonLies, type Lie, lies, oneByteFrames } from "../../../support/agent/hostile/lies.ts"
import { bytes } from "../../../support/agent/hostile/script.ts"
import { collectGarbage } from "../../../support/collectGarbage.ts"
import { TestAgent } from "../../../support/files/TestAgent.ts"
import { commandSpec } from "../../../support/runtime/contract/commands.ts"

/** On a busy machine; the calls of the hostile agent wait for minutes. */
const LATENCY_MAX_MS = 20_000
/** At any time, garbage included; and in the end without it. */
const MEMORY_GROWTH_MAX_BYTES = 512 * 1024 ** 2
const MEMORY_KEPT_MAX_BYTES = 64 * 1024 ** 2
/** Every call ends by itself; those of the hostile agents have a hundredth of the usual time-outs. */
const CALL_MAX_MS = 30_000
const HEAD_BYTES = 4_096
/** A lie that did not arrive in time is repeated. */
const TELLS_MAX = 10

const isTooLate = (fault: GuestUnavailable | null) =>
  fault?._tag === "GuestUnavailable" && /^The Sandbox's agent did not (answer within|finish)/.test(fault.message)

type RouteName = keyof typeof routes

const spec = commandSpec(["true"], { timeoutMs: 1_000, output: { mode: "head", bytes: HEAD_BYTES } })
const start = { stdoutOffset: 0, stderrOffset: 0 }

/** How the service uses each route. */
const calls: Readonly<Record<RouteName, (agent: HostileAgent) => Effect.Effect<unknown, unknown>>> = {
  health: ({ session }) => agentHealth(session),
  clock: ({ session }) => readClock(session),
  start: ({ guest }) => guest.processes.start("key", spec),
  execute: ({ guest }) => guest.processes.execute("key", spec),
  run: ({ guest }) => Stream.runDrain(guest.processes.run("key", spec)),
  channel: ({ guest }) =>
    Effect.scoped(
      Effect.flatMap(guest.processes.open({ ...spec, terminal: null, purpose: "ssh" }), ({ frames }) =>
        Stream.runDrain(frames)
      )
    ),
  output: ({ guest }) => Stream.runDrain(guest.processes.attach("key", start)),
  acknowledge: ({ guest }) => guest.processes.acknowledge("key", start),
  kill: ({ guest }) => guest.processes.kill("key", { graceMs: 0 }),
  forget: ({ guest }) => guest.processes.forget("key"),
  list: ({ guest }) => guest.processes.list,
  every: ({ guest }) => guest.processes.every,
  endOne: ({ guest }) => guest.processes.endOne({ pid: 2, startTicks: 1 }, { graceMs: 0 }),
  fileStat: ({ guest }) => guest.files.stat("/workspace/f"),
  fileRead: ({ guest }) =>
    Effect.scoped(
      Effect.flatMap(guest.files.read("/workspace/f", { offset: 0, maxBytes: 1_000, version: null }), ({ body }) =>
        Effect.tryPromise({ try: () => body.toArray(), catch: (cause) => cause })
      )
    ),
  fileWrite: ({ guest }) =>
    Effect.suspend(() => {
      const body = new PassThrough()
      body.end("content")
      return guest.files.write("/workspace/f", { bytes: body, broken: () => "broken" })
    }),
  fileEdit: ({ guest }) =>
    guest.files.edit("/workspace/f", { expectedSha256: "0".repeat(64), oldText: "a", newText: "b", replaceAll: false }),
  fileList: ({ guest }) => guest.files.list("/workspace", { pageSize: 1_000, after: null }),
  createDirectory: ({ guest }) => guest.files.createDirectory("/workspace/d", { recursive: false }),
  renameFile: ({ guest }) => guest.files.rename("/workspace/a", "/workspace/b", { overwrite: false }),
  removeFile: ({ guest }) => guest.files.remove("/workspace/d", { recursive: true }),
  unpackArchive: ({ guest }) =>
    Effect.suspend(() => {
      const body = new PassThrough()
      body.end("archive")
      return guest.files.unpack("/workspace/d", { bytes: body, broken: () => "broken" }, "gzip")
    }),
  packDirectory: ({ guest }) =>
    Effect.scoped(
      Effect.flatMap(guest.files.pack("/workspace/d", "identity"), (body) =>
        Effect.tryPromise({ try: () => body.toArray(), catch: (cause) => cause })
      )
    ),
  dial: ({ guest }) => Effect.scoped(guest.dial(80))
}

const readLies = (): ReadonlyArray<Lie> => {
  const good = { "atoll-next-offset": "4", "atoll-size": "4", "atoll-version": "v" }
  const texts = ["-1", "0.5", "1e3", "0x10", " 4", "", "9007199254740992", "99999999999999999999", "4, 4", "NaN"]
  const lie = (name: string, headers: Readonly<Record<string, string>>, expected: Lie["expect"] = "protocol"): Lie => ({
    name,
    expect: expected,
    script: { as: "http", status: 200, headers, body: [bytes("body")] }
  })
  return [
    ...["atoll-next-offset", "atoll-size"].flatMap((name) =>
      texts.map((value) => lie(`${name} ${value}`, { ...good, [name]: value }))
    ),
    ...Object.keys(good).map((name) => lie(`${name} missing`, { ...good, [name]: undefined } as never)),
    lie("a version of 4 KiB", { ...good, "atoll-version": "v".repeat(4_096) }),
    lie("a version with blanks", { ...good, "atoll-version": "a b" }),
    lie("more announced than asked for", { ...good, "atoll-next-offset": "1001", "atoll-size": "1001" }),
    lie("more announced than there is", { ...good, "atoll-next-offset": "5" }),
    lie("more sent than announced", { ...good, "atoll-next-offset": "3" }),
    lie("less sent than announced", { ...good, "atoll-next-offset": "10", "atoll-size": "10" }, "unavailable")
  ]
}

const contentLies = (): ReadonlyArray<Lie> => {
  const frame = (text: string) => Buffer.concat([Buffer.of(0, 0, 0, text.length), Buffer.from(text)])
  const end = Buffer.alloc(4)
  const lie = (name: string, expected: Lie["expect"], parts: ReadonlyArray<Uint8Array>, rest: object = {}): Lie => ({
    name,
    expect: expected,
    script: { as: "http", status: 200, body: parts.map((part) => bytes(part)), ...rest }
  })
  return [
    lie("more after its end", "protocol", [frame("some"), end, frame("more")]),
    lie("two ends", "protocol", [frame("some"), end, end]),
    lie("nothing at all", "unavailable", []),
    lie("no end", "unavailable", [frame("some")]),
    lie("a frame that ends early", "unavailable", [Buffer.of(0, 0, 0, 9), Buffer.from("some")]),
    lie("a frame of four gigabytes that ends early", "unavailable", [Buffer.alloc(4, 0xff), Buffer.from("some")]),
    lie("half the head of a frame", "unavailable", [Buffer.of(0, 0)]),
    lie("broken off", "unavailable", [frame("some")], { afterwards: "reset" }),
    lie("the connection cut", "unavailable", [frame("some")], { afterwards: "destroy" })
  ]
}

const liesOf = (name: RouteName): ReadonlyArray<Lie> => {
  const { answer, refusals } = routes[name]
  const own =
    answer.kind === "json"
      ? jsonLies(answer.shape)
      : answer.kind === "frames"
        ? frameLies(name === "execute" ? HEAD_BYTES : null)
        : answer.kind === "bytes"
          ? readLies()
          : answer.kind === "content"
            ? contentLies()
            : []
  return [...own, ...lies(refusals)]
}

describe("a hostile agent beside another tenant's Sandbox", () => {
  const folder = fs.mkdtempSync(join(tmpdir(), "atoll-tenant-"))
  let agent: TestAgent
  let neighbour: Guest
  let latencyMaxMs = 0
  let memoryMaxBytes = 0
  let memoryBefore = 0
  let wrong: ReadonlyArray<unknown> = []
  let isOver = false
  let watching = Promise.resolve()

  const used = () => {
    const { heapUsed, external, arrayBuffers } = process.memoryUsage()
    return heapUsed + external + arrayBuffers
  }

  /** The calls that the other tenant makes all the time. */
  const watch = async () => {
    const command = commandSpec(["printf", "exactly this"], { cwd: join(folder, "workspace") })
    for (let turn = 0; !isOver; turn++) {
      const began = performance.now()
      const ended = await Effect.runPromise(Effect.result(neighbour.processes.execute(`neighbour-${turn}`, command)))
      latencyMaxMs = Math.max(latencyMaxMs, performance.now() - began)
      memoryMaxBytes = Math.max(memoryMaxBytes, used())
      const text = ended._tag === "Success" ? Buffer.from(ended.success.stdout).toString() : ended.failure
      if (text !== "exactly this") wrong = [...wrong, text]
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  beforeAll(async () => {
    fs.mkdirSync(join(folder, "workspace"))
    agent = await TestAgent.start(folder)
    neighbour = makeAgentGuest(agent.session)
    memoryBefore = used()
    watching = watch()
  })
  afterAll(async () => {
    isOver = true
    await watching
    await agent.kill()
    fs.rmSync(folder, { recursive: true, force: true })
  })

  for (const name of Object.keys(routes) as ReadonlyArray<RouteName>) {
    it.concurrent(`is held to the protocol: ${name}`, { timeout: 120_000 }, async () => {
      const hostile = await HostileAgent.start()
      try {
        const believed: Array<string> = []
        for (const lie of liesOf(name)) {
          const ask = async () => {
            await hostile.play(lie.script)
            const exit = await Effect.runPromise(Effect.exit(Effect.timeout(calls[name](hostile), CALL_MAX_MS)))
            return Exit.isFailure(exit) ? (Effect.runSync(Effect.flip(exit)) as GuestUnavailable) : null
          }
          let fault = await ask()
          // A busy machine may need longer than the hundredth of the usual time-outs to send a lie at all.
          for (let tries = 1; tries < TELLS_MAX && lie.expect === "protocol" && isTooLate(fault); tries++)
            fault = await ask()
          if (lie.expect === "harmless") continue
          const isHeld = fault?._tag === "GuestUnavailable" && (lie.expect !== "protocol" || fault.fault === "protocol")
          if (!isHeld) believed.push(`${lie.name}: ${JSON.stringify(fault ?? "believed")}`)
          // The operator's log holds no text of the guest.
          if (fault !== null) expect(fault.message).toMatch(/^[ -~]{1,400}$/)
        }
        expect(believed).toEqual([])
      } finally {
        await hostile.end()
      }
    })
  }

  it("may send the largest answers, and they are exact", async () => {
    const hostile = await HostileAgent.start()
    try {
      await hostile.play({
        as: "http",
        status: 200,
        body: [...oneByteFrames(HEAD_BYTES), ...honestEnd(HEAD_BYTES, HEAD_BYTES)]
      })
      const ended = await Effect.runPromise(hostile.guest.processes.execute("key", spec))
      expect(Buffer.from(ended.stdout).toString()).toBe("o".repeat(HEAD_BYTES))
      expect(Buffer.from(ended.stderr).toString()).toBe("e".repeat(HEAD_BYTES))
    } finally {
      await hostile.end()
    }
  })

  // By nghttp2's own rates, on which the service relies.
  it.each(["pings", "settings"] as const)("is cut off when it floods a session with %s", async (as) => {
    const hostile = await HostileAgent.start(1)
    try {
      await hostile.play({ as })
      const exit = await Effect.runPromise(Effect.exit(agentHealth(hostile.session)))
      expect(Exit.isFailure(exit)).toBe(true)
      await vi.waitUntil(() => hostile.connection?.destroyed)
    } finally {
      await hostile.end()
    }
  })

  it("costs the other tenant neither its answers nor its time, and the service no memory", () => {
    expect(wrong).toEqual([])
    expect(latencyMaxMs).toBeGreaterThan(0)
    expect(latencyMaxMs).toBeLessThan(LATENCY_MAX_MS)
    expect(memoryMaxBytes - memoryBefore).toBeLessThan(MEMORY_GROWTH_MAX_BYTES)
    collectGarbage()
    expect(used() - memoryBefore).toBeLessThan(MEMORY_KEPT_MAX_BYTES)
  })
})
