/** The contract of a driver about what is open in a Sandbox while snapshots of it are taken. */
import { once } from "node:events"
import type { Duplex } from "node:stream"
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, type Layer, type Scope, Stream } from "effect"
import type { Guest, ProcessChannel } from "../../../../src/runtime/Guest.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { eventually, output, run, shell } from "./commands.ts"
import { sandboxSpec } from "./sandboxSpec.ts"

const PORT = 4567
const echo = `require("net").createServer((one) => one.on("error", () => {}).pipe(one)).listen(${PORT}, "127.0.0.1", () => console.log("up"))`
const serve = `node -e '${echo}' > /tmp/up 2>&1 & until grep -q up /tmp/up; do sleep 0.05; done`
const repeat = 'echo ready; while read -r line; do echo "got $line"; done'
const TIMER_MS = 3000
/** An emulated machine on a busy host shares one CPU between all that is open here. */
const LATE_MS = 15_000
const LINES = 60
const linesTo = (last: number) => Array.from({ length: last }, (_, at) => `${at + 1}\n`).join("")

/** Bytes that a conversation has sent and not heard again: an emulated machine on a busy host would fall ever further behind. */
const AHEAD_MAX = 256

/** Sends numbered lines over one connection until it is stopped; then all that came back. */
class Conversation {
  readonly #stream: Duplex
  readonly #came: Array<Buffer> = []
  #sent = 0
  #ahead = 0
  #goesOn = true
  readonly #whole: Promise<void>

  constructor(stream: Duplex) {
    this.#stream = stream
    stream.on("data", (bytes: Buffer) => {
      this.#came.push(bytes)
      this.#ahead -= bytes.length
    })
    this.#whole = this.#talk()
  }

  get sent(): number {
    return this.#sent
  }

  get text(): string {
    return Buffer.concat(this.#came).toString()
  }

  async #talk(): Promise<void> {
    while (this.#goesOn) {
      if (this.#ahead < AHEAD_MAX) {
        const line = `${++this.#sent}\n`
        this.#ahead += line.length
        this.#stream.write(line)
      }
      await sleep(2)
    }
    const ended = once(this.#stream, "end")
    this.#stream.end()
    await ended
  }

  async stop(): Promise<string> {
    this.#goesOn = false
    await this.#whole
    expect(this.#sent).toBeGreaterThan(100)
    return linesTo(this.#sent)
  }
}

/** `memory`: of the whole machine. `runtime` is a new one, on a host without Sandboxes and snapshots. */
export const openContract = (
  name: string,
  runtime: Layer.Layer<Runtime, unknown>,
  { timeout = 240_000, memory = false }: { readonly timeout?: number; readonly memory?: boolean } = {}
): void => {
  const booted = (sandboxId: string, snapshotId?: string) =>
    Effect.gen(function* () {
      const driver = yield* Runtime
      yield* driver.provision(sandboxSpec(sandboxId, snapshotId === undefined ? {} : { snapshotId }))
      return yield* driver.guest(sandboxId, 1)
    })

  /** What an interactive command has said until now. */
  const heard = (channel: ProcessChannel): Effect.Effect<() => string, never, Scope.Scope> =>
    Effect.gen(function* () {
      let text = ""
      yield* Stream.runForEach(channel.frames, (frame) =>
        Effect.sync(() => {
          if (frame.type === "output") text += Buffer.from(frame.bytes).toString()
        })
      ).pipe(Effect.forkScoped({ startImmediately: true }))
      return () => text
    })

  const opened = (guest: Guest, purpose: "terminal" | "ssh") =>
    Effect.gen(function* () {
      const terminal = purpose === "terminal" ? { columns: 80, rows: 24 } : null
      const script = terminal === null ? repeat : `stty -echo; ${repeat}`
      const channel = yield* guest.processes.open({
        ...{ argv: ["bash", "-c", script], cwd: "/workspace", env: {}, terminal, purpose }
      })
      const said = yield* heard(channel)
      const says = (line: string) => eventually(Effect.sync(() => said().includes(line)))
      yield* says("ready")
      return { ask: (word: string) => Effect.andThen(channel.write(Buffer.from(`${word}\n`)), says(`got ${word}`)) }
    })

  const timed = (guest: Guest) =>
    Effect.gen(function* () {
      const began = Date.now()
      yield* output(guest, `sleep ${TIMER_MS / 1000}`)
      return Date.now() - began
    })

  describe(`what is open while snapshots are taken${memory ? " with memory" : ""}: ${name}`, () => {
    it.live(
      `a terminal, SSH, a connection, output and a timer go on in the source, without a byte less${memory ? "; a copy has the timer and the server, and none of the clients" : ""}`,
      () =>
        Effect.gen(function* () {
          const driver = yield* Runtime
          const source = yield* booted("source")
          yield* output(source, serve)
          const talk = new Conversation(yield* source.dial(PORT))
          const clients = [yield* opened(source, "terminal"), yield* opened(source, "ssh")]
          for (const client of clients) yield* client.ask("one")
          const count = `i=0; while [ $i -lt ${LINES} ]; do i=$((i+1)); echo $i; sleep 0.05; done`
          const counted = yield* Effect.forkScoped(run(source, shell(count)), { startImmediately: true })
          const timer = yield* Effect.forkScoped(timed(source), { startImmediately: true })
          yield* output(source, `(sleep ${TIMER_MS / 1000}; echo rang > /dev/shm/rang) > /dev/null 2>&1 &`)
          for (const id of ["first", "second"]) {
            yield* driver.snapshots.capture(id, "source", memory)
            for (const client of clients) yield* client.ask(id)
          }
          expect((yield* Fiber.join(counted)).stdout).toBe(linesTo(LINES))
          const took = yield* Fiber.join(timer)
          expect(took).toBeGreaterThanOrEqual(TIMER_MS)
          expect(took).toBeLessThan(TIMER_MS + LATE_MS)
          if (memory) {
            const child = yield* booted("child", "first")
            // The clients are connected to the source. Here their commands have lost them, and ended.
            yield* eventually(Effect.map(output(child, "pgrep -c bash || true"), (running) => running === "0"))
            yield* eventually(Effect.map(output(child, "cat /dev/shm/rang || true"), (text) => text === "rang"))
            const own = new Conversation(yield* child.dial(PORT))
            yield* eventually(Effect.sync(() => own.sent > 100))
            const told = yield* Effect.promise(() => own.stop())
            expect(own.text).toBe(told)
          }
          const sent = yield* Effect.promise(() => talk.stop())
          expect(talk.text).toBe(sent)
        }).pipe(Effect.scoped, Effect.provide(runtime)),
      timeout
    )
  })
}
