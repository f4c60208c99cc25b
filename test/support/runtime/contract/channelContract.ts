/** The contract of `GuestProcesses.open`: commands with a connected client. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, type Scope, Stream } from "effect"
import type { Guest, ProcessChannel, ProcessFrame } from "../../../../src/runtime/Guest.ts"

const utf8 = new TextDecoder()
const bytesOf = (text: string) => new TextEncoder().encode(text)

/** Everything until the end; `onText` gets all stdout so far after each frame. */
const follow = (channel: ProcessChannel, onText: (text: string) => Effect.Effect<void> = () => Effect.void) =>
  Effect.gen(function* () {
    let text = ""
    let exited: Extract<ProcessFrame, { readonly type: "exited" }> | null = null
    yield* Stream.runForEach(channel.frames, (frame) => {
      if (frame.type === "exited") exited = frame
      if (frame.type !== "output" || frame.stream !== "stdout") return Effect.void
      text += utf8.decode(frame.bytes)
      return onText(text)
    }).pipe(Effect.orDie)
    return { text, exited: exited as Extract<ProcessFrame, { readonly type: "exited" }> | null }
  })

/** Does `act` once, when `wanted` was seen. */
const onceSeen = (wanted: string | RegExp, act: Effect.Effect<unknown, unknown>) => {
  let done = false
  return (text: string) => {
    if (done || text.search(wanted) < 0) return Effect.void
    done = true
    return Effect.orDie(Effect.asVoid(act))
  }
}

export const channelContract = (
  name: string,
  guest: Effect.Effect<Guest, unknown, Scope.Scope>,
  timeoutMs = 240_000
): void => {
  const test = (title: string, body: (guest: Guest) => Effect.Effect<unknown, unknown, Scope.Scope>) =>
    it.live(title, () => Effect.scoped(Effect.flatMap(guest, body)), timeoutMs)
  const spec = (script: string) => ({
    argv: ["/bin/bash", "-c", script],
    cwd: "/workspace",
    env: {},
    terminal: null,
    purpose: "ssh" as const
  })

  describe(`interactive commands: ${name}`, () => {
    test("input reaches the command until its end, with the bytes unchanged", ({ processes }) =>
      Effect.gen(function* () {
        const channel = yield* processes.open(spec("sha256sum; exit 7"))
        const sent = new Uint8Array(3_000_000).map((_, at) => at % 251)
        for (let at = 0; at < sent.length; at += 500_000) yield* channel.write(sent.subarray(at, at + 500_000))
        yield* channel.end
        const { text, exited } = yield* follow(channel)
        const digest = new Uint8Array(yield* Effect.promise(() => crypto.subtle.digest("SHA-256", sent)))
        expect(text.split(" ")[0]).toBe(Buffer.from(digest).toString("hex"))
        expect(exited?.exitCode).toBe(7)
      }))

    test("a conversation goes both ways", ({ processes }) =>
      Effect.gen(function* () {
        const channel = yield* processes.open(spec('while read -r line; do echo "got $line"; done'))
        yield* channel.write(bytesOf("one\n"))
        const { text } = yield* follow(
          channel,
          onceSeen("got one", Effect.andThen(channel.write(bytesOf("two\n")), channel.end))
        )
        expect(text).toBe("got one\ngot two\n")
      }))

    test("a signal ends the command and is reported", ({ processes }) =>
      Effect.gen(function* () {
        const channel = yield* processes.open(spec("echo up; exec sleep 60"))
        const { exited } = yield* follow(channel, onceSeen("up", channel.signal("SIGINT")))
        expect([exited?.exitCode, exited?.signal]).toEqual([null, "SIGINT"])
      }))

    test("a command is listed as its own, by its purpose", ({ processes }) =>
      Effect.gen(function* () {
        for (const purpose of ["ssh", "terminal"] as const) {
          const channel = yield* processes.open({ ...spec("setsid sleep 7341 & echo up; wait"), purpose })
          let commands: ReadonlyArray<string | null | undefined> = []
          const look = Effect.map(processes.every, (listed) => {
            commands = listed.processes
              .filter(({ argv }) => argv.at(-1) === "7341" || argv.at(-1)?.includes("sleep 7341"))
              .map(({ command }) => command)
          })
          yield* follow(channel, onceSeen("up", Effect.andThen(look, channel.signal("SIGKILL"))))
          expect(commands.length).toBeGreaterThan(0)
          expect([new Set(commands).size, commands[0]]).toEqual([1, expect.stringMatching(`^${purpose}-`)])
          yield* Effect.forEach((yield* processes.every).processes, (left) =>
            left.argv.at(-1) === "7341" ? Effect.ignore(processes.endOne(left, { graceMs: 0 })) : Effect.void
          )
        }
      }))

    test("a slow reader applies backpressure to the command", ({ processes }) =>
      Effect.gen(function* () {
        const channel = yield* processes.open(spec("head -c 50000000 /dev/zero; touch /tmp/wrote-all"))
        yield* Effect.sleep("500 millis")
        const look = yield* processes.open(spec("test -e /tmp/wrote-all"))
        expect((yield* follow(look)).exited?.exitCode).toBe(1)
        expect((yield* follow(channel)).exited?.stdoutBytes).toBe(50_000_000)
      }))

    test("a command ends with its scope, its whole tree included", ({ processes }) =>
      Effect.gen(function* () {
        yield* Effect.scoped(
          Effect.gen(function* () {
            const channel = yield* processes.open(spec("setsid sleep 98765 & echo up; wait"))
            yield* Stream.runHead(channel.frames)
          })
        )
        const count = Effect.gen(function* () {
          const look = yield* processes.open(spec("cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c 'sleep 9876[5]'"))
          return (yield* follow(look)).text.trim()
        })
        yield* Effect.repeat(Effect.scoped(count), { until: (left) => left === "0", times: 1000 })
        expect(yield* Effect.scoped(count)).toBe("0")
      }))

    test("a terminal has a size, follows its changes, and turns Ctrl-C into SIGINT", ({ processes }) =>
      Effect.gen(function* () {
        const script =
          'trap "stty size" WINCH; trap "echo interrupted; exit 9" INT; tty; stty size; echo ready; while :; do sleep 0.1; done'
        const channel = yield* processes.open({ ...spec(script), terminal: { columns: 101, rows: 37 } })
        const resize = onceSeen("ready", channel.resize({ columns: 77, rows: 11 }))
        const interrupt = onceSeen("11 77", channel.write(bytesOf("\x03")))
        const { text, exited } = yield* follow(channel, (seen) => Effect.andThen(resize(seen), interrupt(seen)))
        expect(text).toMatch(/^\/dev\/pts\/\d+\r\n37 101\r\nready\r\n/)
        expect(text).toContain("11 77\r\n")
        expect(text).toContain("interrupted\r\n")
        expect(exited?.exitCode).toBe(9)
      }))

    test("a shell on a terminal echoes, edits lines and ends at Ctrl-D", ({ processes }) =>
      Effect.gen(function* () {
        const channel = yield* processes.open({
          argv: ["/bin/bash", "--norc"],
          cwd: "/workspace",
          env: { PS1: "% ", TERM: "dumb" },
          terminal: { columns: 80, rows: 24 },
          purpose: "terminal"
        })
        yield* channel.write(bytesOf("echo $((6 * 8\x7f7))\r"))
        // Not before the next prompt: for a terminal between two of them, Ctrl-D is an empty input that the shell never
        // sees.
        const end = onceSeen(/\n42\r\n.*[%$#] $/, channel.write(bytesOf("\x04")))
        const { text, exited } = yield* follow(channel, end)
        expect(text).toContain("42\r\n")
        expect(exited?.exitCode).toBe(0)
      }))
  })
}
