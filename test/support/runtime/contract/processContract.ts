/** The contract of `GuestProcesses` and `dial`, for any driver whose guests run real commands. */
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, type Scope, Stream } from "effect"
import type { Guest, ProcessSpec } from "../../../../src/runtime/Guest.ts"
import { commandSpec, eventually, freshKey, gather, output, run, shell } from "./commands.ts"

const decoder = new TextDecoder()

/** Leaves the tree of its parent in every known way: a new session, an orphan's fate, an empty environment. */
const ESCAPEE = (marker: string) => `env -i /usr/bin/setsid sh -c "(exec sleep ${marker} &) ; exec sleep ${marker}" &`

const alive = (guest: Guest, marker: string) =>
  Effect.map(
    run(
      guest,
      shell(
        `for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline 2>/dev/null | grep -qx "sleep ${marker} " && echo $p; done; true`
      )
    ),
    (it) => it.stdout.trim() !== ""
  )

/** The same guest, whose commands run in `directory` unless they name another. */
const inDirectory = (guest: Guest, directory: string): Guest => {
  const placed = (spec: ProcessSpec) => (spec.cwd === "/workspace" ? { ...spec, cwd: directory } : spec)
  const { processes } = guest
  return {
    ...guest,
    processes: {
      ...processes,
      start: (key, spec) => processes.start(key, placed(spec)),
      run: (key, spec) => processes.run(key, placed(spec)),
      execute: (key, spec) => processes.execute(key, placed(spec))
    }
  }
}

/** `workspace` is where commands run that name no directory. */
export const processContract = (
  name: string,
  guest: Effect.Effect<Guest, unknown, Scope.Scope>,
  workspace = "/workspace",
  timeoutMs = 240_000
): void => {
  const test = (
    title: string,
    body: (guest: Guest) => Effect.Effect<unknown, unknown, Scope.Scope>,
    timeout = timeoutMs
  ) => it.live(title, () => Effect.scoped(Effect.flatMap(guest, (it) => body(inDirectory(it, workspace)))), timeout)

  describe(`commands: ${name}`, () => {
    test("a command's two streams, exit code and times come back", (guest) =>
      Effect.gen(function* () {
        const before = Date.now()
        const ended = yield* run(guest, shell("echo out; echo err >&2; exit 7"))
        expect(ended).toMatchObject({ stdout: "out\n", stderr: "err\n", processTree: "gone" })
        expect(ended.exited).toMatchObject({
          exitCode: 7,
          signal: null,
          timedOut: false,
          outOfMemory: false,
          stdoutBytes: 4,
          stderrBytes: 4
        })
        expect(ended.exited.startedAt).toBeGreaterThan(before - 60_000)
        expect(ended.exited.finishedAt).toBeGreaterThanOrEqual(ended.exited.startedAt)
      }))

    test("arguments reach the program unchanged", (guest) =>
      Effect.gen(function* () {
        const argv = ["printf", "%s|", "a b", "", "$HOME", "'\"\\", "ünï", "*"]
        expect((yield* run(guest, commandSpec(argv))).stdout).toBe("a b||$HOME|'\"\\|ünï|*|")
      }))

    test("a missing program ends with 127 and one that cannot run with 126, each with a line on stderr", (guest) =>
      Effect.gen(function* () {
        const missing = yield* run(guest, commandSpec(["no-such-program"]))
        expect(missing.exited).toMatchObject({ exitCode: 127, signal: null })
        expect(missing.stderr).toContain("no-such-program")
        const barred = yield* run(guest, commandSpec(["/etc/passwd"]))
        expect(barred.exited).toMatchObject({ exitCode: 126, signal: null })
        expect(barred.stderr).toContain("/etc/passwd")
      }))

    test("a working directory that is missing or no directory is refused", (guest) =>
      Effect.gen(function* () {
        expect(yield* Effect.flip(run(guest, shell("true", { cwd: `${workspace}/none` })))).toMatchObject({
          _tag: "SpawnRefused",
          code: "CWD_NOT_FOUND"
        })
        yield* output(guest, "echo > plain")
        expect(yield* Effect.flip(run(guest, shell("true", { cwd: `${workspace}/plain` })))).toMatchObject({
          _tag: "SpawnRefused",
          code: "CWD_NOT_A_DIRECTORY"
        })
      }))

    test("arguments that no kernel takes are refused", (guest) =>
      Effect.gen(function* () {
        const spec = commandSpec(["true", "x".repeat(1024 * 1024)])
        expect(yield* Effect.flip(run(guest, spec))).toMatchObject({ _tag: "SpawnRefused", code: "ARGUMENTS_TOO_LONG" })
      }))

    const processorNames = ["GOMAXPROCS", "OMP_NUM_THREADS", "PYTHON_CPU_COUNT"]
    test("the default environment is small, and a command's own is added to it", (guest) =>
      Effect.gen(function* () {
        const { stdout } = yield* run(guest, commandSpec(["env"], { env: { OWN: "1", HOME: "/tmp" } }))
        const names = stdout
          .trim()
          .split("\n")
          .map((line) => line.split("=")[0])
        expect(stdout).toContain("OWN=1\n")
        expect(stdout).toContain("HOME=/tmp\n")
        expect(names.toSorted()).toEqual(
          // The names of processors are set where the Sandbox's only limit of them is a share of time.
          ["HOME", "LANG", "LOGNAME", "OWN", "PATH", "PWD", "SHELL", "TERM", "USER", ...processorNames]
            .filter((it) => names.includes(it))
            .toSorted()
        )
        expect(names).toEqual(expect.arrayContaining(["HOME", "LANG", "PATH", "TERM", "USER"]))
      }))

    test("stdin is passed whole and then ends; without it, it is empty", (guest) =>
      Effect.gen(function* () {
        const stdin = Buffer.alloc(200_000, "0123456789")
        expect((yield* run(guest, commandSpec(["wc", "-c"], { stdin }))).stdout.trim()).toBe("200000")
        expect((yield* run(guest, shell("cat /dev/stdin", { stdin: Buffer.from("again") }))).stdout).toBe("again")
        expect((yield* run(guest, commandSpec(["wc", "-c"]))).stdout.trim()).toBe("0")
      }))

    test("/dev/stdout and /dev/stderr can be opened", (guest) =>
      Effect.gen(function* () {
        const ended = yield* run(guest, shell("echo both | tee /dev/stderr; echo out > /dev/stdout"))
        expect(ended).toMatchObject({ stdout: "both\nout\n", stderr: "both\n" })
      }))

    test("a command that a signal ends has no exit code", (guest) =>
      Effect.gen(function* () {
        const ended = yield* run(guest, shell("kill -KILL $$"))
        expect(ended.exited).toMatchObject({ exitCode: null, signal: "SIGKILL" })
      }))

    test("a second start of a key starts nothing", (guest) =>
      Effect.gen(function* () {
        const key = freshKey()
        const spec = shell("echo x >> once; cat once; sleep 0.2")
        yield* Effect.all([guest.processes.start(key, spec), guest.processes.start(key, spec)], { concurrency: 2 })
        yield* guest.processes.start(key, spec)
        const ended = yield* gather(guest.processes.attach(key, { stdoutOffset: 0, stderrOffset: 0 }))
        expect(ended.stdout).toBe("x\n")
      }))

    test("readers may come late, leave, return at an offset, and be many", (guest) =>
      Effect.gen(function* () {
        const key = freshKey()
        yield* guest.processes.start(key, shell("echo first; sleep 0.3; echo second"))
        const at = (stdoutOffset: number) => guest.processes.attach(key, { stdoutOffset, stderrOffset: 0 })
        const early = yield* Stream.runHead(at(0))
        expect(early).toMatchObject({ value: { type: "output", offset: 0 } })
        const [a, b, c] = yield* Effect.all([gather(at(0)), gather(at(0)), gather(at(3))], { concurrency: 3 })
        expect(a.stdout).toBe("first\nsecond\n")
        expect(b).toEqual(a)
        expect(c.stdout).toBe("st\nsecond\n")
        expect((yield* gather(at(6))).stdout).toBe("second\n")
        yield* guest.processes.forget(key)
        expect(yield* Effect.flip(gather(at(0)))).toMatchObject({ _tag: "ProcessUnknown", key })
        yield* guest.processes.forget(key)
      }))

    test("in window mode an endless writer blocks until its output is acknowledged, and nothing is lost", (guest) =>
      Effect.gen(function* () {
        const key = freshKey()
        const bytes = 256 * 1024
        yield* guest.processes.start(key, commandSpec(["seq", "1", "100000000"], { output: { mode: "window", bytes } }))
        let text = ""
        let expected = 0
        let acknowledged = 0
        const acknowledge = () => {
          acknowledged = expected
          return guest.processes.acknowledge(key, { stdoutOffset: expected, stderrOffset: 0 })
        }
        const reader = guest.processes.attach(key, { stdoutOffset: 0, stderrOffset: 0 }).pipe(
          Stream.takeUntil(() => expected > 4 * 1024 * 1024),
          Stream.runForEach((frame) =>
            Effect.suspend(() => {
              if (frame.type !== "output") return Effect.die(new Error("it ended"))
              if (frame.offset !== expected) return Effect.die(new Error(`${frame.offset}, expected ${expected}`))
              expected += frame.bytes.length
              if (expected < 100_000) text += decoder.decode(frame.bytes)
              // Never more than the window beyond the acknowledged output.
              if (expected - acknowledged > bytes) return Effect.die(new Error("the window was exceeded"))
              return expected - acknowledged > bytes / 4 ? acknowledge() : Effect.void
            })
          )
        )
        yield* reader
        expect(text.startsWith("1\n2\n3\n4\n")).toBe(true)
        // Unread from here on: the writer stops at the end of the window.
        yield* Effect.sleep(100)
        const begun = yield* Deferred.make<void>()
        const held = yield* Stream.runCollect(
          guest.processes.attach(key, { stdoutOffset: acknowledged, stderrOffset: 0 }).pipe(
            Stream.takeUntil((frame) => frame.type !== "output"),
            Stream.tap(() => Deferred.succeed(begun, undefined)),
            Stream.interruptWhen(Effect.andThen(Deferred.await(begun), Effect.sleep(300)))
          )
        )
        const kept = [...held].reduce((sum, frame) => sum + (frame.type === "output" ? frame.bytes.length : 0), 0)
        expect(kept).toBeLessThanOrEqual(bytes)
        expect(kept).toBeGreaterThan(0)
        yield* guest.processes.kill(key, { graceMs: 0 })
        yield* guest.processes.acknowledge(key, { stdoutOffset: Number.MAX_SAFE_INTEGER, stderrOffset: 0 })
        const end = yield* gather(guest.processes.attach(key, { stdoutOffset: 0, stderrOffset: 0 }))
        expect(end.exited.signal).toBe("SIGKILL")
      }))

    test("a command's last output waits for room, and its exit waits for that", (guest) =>
      Effect.gen(function* () {
        const key = freshKey()
        const output = { mode: "window", bytes: 64 * 1024 } as const
        yield* guest.processes.start(key, commandSpec(["head", "-c", "100000", "/dev/zero"], { output }))
        // Long enough for the command to have ended with part of its output still in the pipe.
        yield* Effect.sleep(300)
        let seen = 0
        const frames = guest.processes.attach(key, { stdoutOffset: 0, stderrOffset: 0 }).pipe(
          Stream.tap((frame) => {
            if (frame.type !== "output") return Effect.void
            seen = frame.offset + frame.bytes.length
            return guest.processes.acknowledge(key, { stdoutOffset: seen, stderrOffset: 0 })
          })
        )
        const ended = yield* gather(frames)
        expect(seen).toBe(100_000)
        expect(ended.exited).toMatchObject({ exitCode: 0, stdoutBytes: 100_000 })
      }))

    test("head mode keeps the first bytes and counts the rest", (guest) =>
      Effect.gen(function* () {
        const ended = yield* run(
          guest,
          commandSpec(["head", "-c", "50000000", "/dev/zero"], { output: { mode: "head", bytes: 1000 } })
        )
        expect(ended.stdout.length).toBe(1000)
        expect(ended.exited).toMatchObject({ exitCode: 0, stdoutBytes: 50_000_000 })
      }))

    test("all output of a command precedes its exit, and a background child that holds the pipe does not delay it", (guest) =>
      Effect.gen(function* () {
        const ended = yield* run(guest, shell("sleep 30 & seq 1 20000"))
        expect(ended.stdout.endsWith("\n20000\n")).toBe(true)
        expect(ended.exited.finishedAt - ended.exited.startedAt).toBeLessThan(15_000)
        expect(ended.processTree).toBe("running")
      }))

    test("background children that go on writing do not die of it", (guest) =>
      Effect.gen(function* () {
        const key = freshKey()
        yield* gather(
          guest.processes.run(
            key,
            shell("rm -f survived; (trap '' HUP; sleep 0.3; seq 1 100000 && echo yes > survived) & exit 0")
          )
        )
        yield* eventually(Effect.map(run(guest, shell("cat survived")), (it) => it.stdout === "yes\n"))
      }))

    test("death by a signal that has two names is reported by POSIX's", (guest) =>
      Effect.gen(function* () {
        for (const [number, signal] of [
          [6, "SIGABRT"],
          [29, "SIGPOLL"]
        ]) {
          const ended = yield* run(guest, shell(`kill -${number} $$`))
          expect(ended.exited).toMatchObject({ exitCode: null, signal })
        }
      }))

    test("a time-out ends the whole tree and is reported", (guest) =>
      Effect.gen(function* () {
        const ended = yield* run(guest, shell(`${ESCAPEE("7301")} sleep 7301`, { timeoutMs: 300 }))
        expect(ended.exited).toMatchObject({ timedOut: true, signal: "SIGTERM" })
        expect(ended.processTree).toBe("gone")
        expect(yield* alive(guest, "7301")).toBe(false)
      }))

    test("a kill reaches processes that escaped by setsid and double fork", (guest) =>
      Effect.gen(function* () {
        const key = freshKey()
        yield* guest.processes.start(key, shell(`${ESCAPEE("7302")} echo up; sleep 7302`))
        yield* eventually(alive(guest, "7302"))
        yield* guest.processes.kill(key, { graceMs: 2_000 })
        yield* guest.processes.kill(key, { graceMs: 2_000 })
        const ended = yield* gather(guest.processes.attach(key, { stdoutOffset: 0, stderrOffset: 0 }))
        expect(ended.processTree).toBe("gone")
        expect(yield* alive(guest, "7302")).toBe(false)
      }))

    test("a process that ignores TERM is killed after the grace", (guest) =>
      Effect.gen(function* () {
        const key = freshKey()
        yield* guest.processes.start(key, shell("trap '' TERM; echo up; while :; do sleep 0.05; done"))
        const reader = yield* Effect.forkChild(
          gather(guest.processes.attach(key, { stdoutOffset: 0, stderrOffset: 0 }))
        )
        yield* Stream.runHead(guest.processes.attach(key, { stdoutOffset: 0, stderrOffset: 0 }))
        yield* guest.processes.kill(key, { graceMs: 200 })
        expect(yield* Fiber.join(reader)).toMatchObject({ exited: { signal: "SIGKILL" }, processTree: "gone" })
      }))

    test("background processes can still be killed", (guest) =>
      Effect.gen(function* () {
        const key = freshKey()
        const ended = yield* gather(guest.processes.run(key, shell(`${ESCAPEE("7303")} exit 0`)))
        expect(ended.processTree).toBe("running")
        yield* guest.processes.kill(key, { graceMs: 1_000 })
        yield* eventually(
          Effect.map(
            gather(guest.processes.attach(key, { stdoutOffset: 0, stderrOffset: 0 })),
            (it) => it.processTree === "gone"
          )
        )
        expect(yield* alive(guest, "7303")).toBe(false)
      }))

    test("a fork bomb is killed", (guest) =>
      Effect.gen(function* () {
        const key = freshKey()
        yield* guest.processes.start(
          key,
          // Bounded, because a host without a limit of processes would be of no use for other tests.
          shell("bomb() { for i in $(seq 1000); do (setsid sleep 7304 &); sleep 0.01 & done; sleep 7304; }; bomb")
        )
        yield* eventually(alive(guest, "7304"))
        yield* guest.processes.kill(key, { graceMs: 0 })
        const ended = yield* gather(guest.processes.attach(key, { stdoutOffset: 0, stderrOffset: 0 }))
        expect(ended.processTree).toBe("gone")
        expect(yield* alive(guest, "7304")).toBe(false)
      }))

    test("no zombies are left", (guest) =>
      Effect.gen(function* () {
        yield* output(guest, "for i in 1 2 3 4 5 6 7 8; do (setsid sh -c 'sleep 0.02 &' &); done")
        yield* eventually(
          Effect.map(output(guest, "cat /proc/[0-9]*/stat 2>/dev/null | grep -c ') Z ' || true"), (it) => it === "0")
        )
      }))

    test("execute returns the first bytes, counts all, and leaves no known process", (guest) =>
      Effect.gen(function* () {
        const key = freshKey()
        const head = { output: { mode: "head" as const, bytes: 6 } }
        const ended = yield* guest.processes.execute(key, shell("echo 123456789; echo err >&2; exit 3", head))
        expect(ended).toMatchObject({ exitCode: 3, signal: null, timedOut: false, stdoutBytes: 10, stderrBytes: 4 })
        expect([decoder.decode(ended.stdout), decoder.decode(ended.stderr)]).toEqual(["123456", "err\n"])
        yield* eventually(Effect.map(guest.processes.list, (listed) => !listed.some((process) => process.key === key)))
      }))

    test("execute leaves background processes alone, but ends everything when its caller disconnects", (guest) =>
      Effect.gen(function* () {
        const background = yield* guest.processes.execute(freshKey(), shell("sleep 7306 & exit 0"))
        expect(background.exitCode).toBe(0)
        const caller = yield* Effect.forkChild(
          guest.processes.execute(freshKey(), shell(`${ESCAPEE("7307")} sleep 7307`))
        )
        yield* eventually(alive(guest, "7307"))
        yield* Fiber.interrupt(caller)
        yield* eventually(Effect.map(alive(guest, "7307"), (it) => !it))
        expect(yield* alive(guest, "7306")).toBe(true)
        yield* output(guest, "pkill -f '^sleep 7306' || true")
      }))

    test("list has every key and whether its command runs", (guest) =>
      Effect.gen(function* () {
        const [done, busy] = [freshKey(), freshKey()]
        yield* gather(guest.processes.run(done, shell("true")))
        yield* guest.processes.start(busy, shell("sleep 7305"))
        const listed = yield* guest.processes.list
        expect(listed).toEqual(
          expect.arrayContaining([
            { key: done, running: false },
            { key: busy, running: true }
          ])
        )
        yield* guest.processes.forget(busy)
        yield* eventually(Effect.map(alive(guest, "7305"), (it) => !it))
      }))

    test("every process is listed, a command's background processes too, and any of them can be ended", (guest) =>
      Effect.gen(function* () {
        const { every, endOne } = guest.processes
        const named = (seconds: string) =>
          Effect.map(every, ({ processes }) => processes.filter(({ argv }) => argv.join(" ") === `sleep ${seconds}`))
        const before = Date.now()
        const key = freshKey()
        yield* guest.processes.execute(key, shell("setsid sleep 7321 & (trap '' TERM; exec sleep 7322) & exit 0"))
        // Just after its exec a process is still running: it sleeps once it has requested that.
        const sleeps = (one: string) => Effect.map(named(one), (all) => all.map((it) => it.state).join() === "sleeping")
        yield* Effect.forEach(["7321", "7322"], (one) => eventually(sleeps(one)))
        const [left] = yield* named("7321")
        // The command has ended, and the guest has forgotten it; its background process is still listed with its key.
        const user = yield* output(guest, "id -un 2>/dev/null || id -u")
        expect(left).toMatchObject({ state: "sleeping", argv: ["sleep", "7321"], user, command: key })
        expect(left!.memoryBytes).toBeGreaterThan(0)
        expect(Math.abs(left!.startedAt - before)).toBeLessThan(60_000)
        // A pid that is used again is another process. One that exits has no arguments, and can still be signalled.
        const other = { pid: left!.pid, startTicks: left!.startTicks + 1 }
        expect(yield* Effect.flip(endOne(other, { graceMs: 0 }))).toMatchObject({ _tag: "ProcessUnknown" })
        yield* endOne(left!, { graceMs: 60_000 })
        yield* eventually(Effect.map(named("7321"), (found) => found.length === 0))
        const again = Effect.as(endOne(left!, { graceMs: 0 }), false)
        yield* eventually(Effect.catchTag(again, "ProcessUnknown", () => Effect.succeed(true)))
        const [deaf] = yield* named("7322")
        yield* endOne(deaf!, { graceMs: 200 })
        yield* eventually(Effect.map(named("7322"), (found) => found.length === 0))
      }))

    test("a process that has ended is not listed, even if its parent never reaps it", (guest) =>
      Effect.gen(function* () {
        const { every, endOne } = guest.processes
        const key = freshKey()
        const careless =
          "import os,time\npid=os.fork()\nif pid==0: os._exit(0)\nprint(pid,flush=True)\ntime.sleep(7323)"
        yield* guest.processes.start(key, commandSpec(["python3", "-c", careless], { timeoutMs: null }))
        yield* Stream.runHead(guest.processes.attach(key, { stdoutOffset: 0, stderrOffset: 0 }))
        const zombie = Effect.map(every, ({ processes }) => processes.find(({ state }) => state === "zombie"))
        yield* eventually(Effect.map(zombie, (found) => found !== undefined))
        const found = (yield* zombie)!
        expect(yield* Effect.flip(endOne(found, { graceMs: 0 }))).toMatchObject({ _tag: "ProcessUnknown" })
        yield* guest.processes.forget(key)
      }))

    test("the agent's own processes are not listed, and cannot be ended that way", (guest) =>
      Effect.gen(function* () {
        const { processes } = yield* guest.processes.every
        expect(processes.filter(({ pid, argv }) => pid === 1 || /agent\.\w*js/.test(argv.join(" ")))).toEqual([])
        expect(yield* Effect.flip(guest.processes.endOne({ pid: 1, startTicks: 0 }, { graceMs: 0 }))).toMatchObject({
          _tag: "ProcessUnknown"
        })
      }))

    test("a port without a listener is closed, and one with a listener carries bytes both ways", (guest) =>
      Effect.gen(function* () {
        expect(yield* Effect.flip(guest.dial(7_311))).toMatchObject({ _tag: "PortClosed", port: 7_311 })
        const key = freshKey()
        const server =
          "import socket\ns=socket.create_server(('127.0.0.1',7312))\nprint('up',flush=True)\nwhile 1:\n c,_=s.accept()\n d=b''\n while 1:\n  x=c.recv(65536)\n  if not x: break\n  d+=x\n c.sendall(d[::-1]); c.close()"
        yield* guest.processes.start(key, commandSpec(["python3", "-c", server]))
        yield* Stream.runHead(guest.processes.attach(key, { stdoutOffset: 0, stderrOffset: 0 }))
        const socket = yield* guest.dial(7_312)
        const answer = yield* Effect.promise(async () => {
          socket.end(Buffer.from("drawer".repeat(100_000)))
          const chunks: Array<Buffer> = []
          for await (const chunk of socket) chunks.push(chunk as Buffer)
          return Buffer.concat(chunks).toString()
        })
        expect(answer).toBe("reward".repeat(100_000))
        yield* guest.processes.forget(key)
      }))
  })
}
