import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { followProcess } from "../../../src/operation/ProcessFollower.ts"
import type { Guest, GuestProcesses, ProcessFrame } from "../../../src/runtime/Guest.ts"
import { Output } from "../../../src/store/Output.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { testSettings } from "../../support/TestSettings.ts"

type OutputFrame = Extract<ProcessFrame, { readonly type: "output" }>

/** A command that writes `stdout` and ends, in a guest that keeps everything that was not acknowledged. */
const guestThatWrote = (stdout: Buffer) => {
  const acknowledged: Array<number> = []
  const asked: Array<number> = []
  const exited: ProcessFrame = {
    type: "exited",
    exitCode: 0,
    signal: null,
    timedOut: false,
    outOfMemory: false,
    startedAt: 0,
    finishedAt: 1,
    stdoutBytes: stdout.length,
    stderrBytes: 0
  }
  const processes: Partial<GuestProcesses> = {
    attach: (_key, { stdoutOffset }) => {
      asked.push(stdoutOffset)
      const from = Math.max(stdoutOffset, acknowledged.at(-1) ?? 0)
      const frames: Array<ProcessFrame> = []
      for (let offset = from; offset < stdout.length; offset += 10) {
        frames.push({ type: "output", stream: "stdout", offset, bytes: stdout.subarray(offset, offset + 10) })
      }
      return Stream.fromIterable([...frames, exited, { type: "settled", processTree: "gone" } as ProcessFrame])
    },
    acknowledge: (_key, { stdoutOffset }) => Effect.sync(() => void acknowledged.push(stdoutOffset))
  }
  return { guest: { processes } as Guest, acknowledged, asked }
}

/** The effect of a database crash on output that was not flushed. */
const forgetFrom = (key: string, offset: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`delete from output_chunks where owner_id = ${key} and start_offset >= ${BigInt(offset)}`
    if (offset === 0) yield* sql`delete from outputs where owner_id = ${key}`
    else yield* sql`update outputs set next_offset = ${BigInt(offset)} where owner_id = ${key}`
  }).pipe(Effect.orDie)

const digits = (length: number) => Buffer.from(Array.from({ length }, (_, index) => 48 + (index % 10)))

const words: ProcessFrame = { type: "output", stream: "stdout", offset: 0, bytes: Buffer.from("a few words\n") }

layer(Output.layer.pipe(Layer.provide(testSettings()), Layer.provideMerge(TestDatabase.layer)), {
  excludeTestServices: true
})("a follower", (it) => {
  it.effect("acknowledges even little output to the guest soon, though the command goes on silently", () =>
    Effect.gen(function* () {
      const output = yield* Output
      const told = Promise.withResolvers<unknown>()
      const processes: Partial<GuestProcesses> = {
        attach: () => Stream.concat(Stream.make(words), Stream.never),
        acknowledge: (_key, upTo) => Effect.sync(() => told.resolve(upTo))
      }
      yield* Effect.forkScoped(
        followProcess({
          guest: { processes } as Guest,
          output,
          key: "op_quiet",
          sandboxId: "sbx",
          source: "process",
          retainBytes: 1024
        })
      )
      assert.deepStrictEqual(yield* Effect.promise(() => told.promise), { stdoutOffset: 12, stderrOffset: 0 })
      assert.strictEqual((yield* output.offsets("op_quiet")).stdout, 12)
    })
  )

  it.effect("goes on from what is stored though it was told that nothing is", () =>
    Effect.gen(function* () {
      const output = yield* Output
      const key = "op_followed_before"
      const stdout = digits(200)
      const { guest, asked } = guestThatWrote(stdout)
      const stored = { ownerId: key, stream: "stdout" as const, sandboxId: "sbx", source: "process" as const, at: 1 }
      yield* output.append([{ ...stored, follows: 0, offset: 0, bytes: stdout.subarray(0, 40) }])
      const options = { guest, output, key, sandboxId: "sbx", source: "process" as const, retainBytes: 1024 }
      const followed = yield* followProcess({ ...options, isNew: true })
      assert.strictEqual(followed.exited?.exitCode, 0)
      assert.deepStrictEqual(asked, [0, 40])
      const page = yield* output.read(key, "stdout", 0, 1000)
      assert.deepStrictEqual(Buffer.from(page.bytes), stdout)
    })
  )

  it.effect("asks the store for nothing where nothing is stored by its caller's word", () =>
    Effect.gen(function* () {
      const output = yield* Output
      const { guest } = guestThatWrote(digits(50))
      const unasked = Output.of({ ...output, offsets: () => Effect.die("asked") })
      const options = { guest, output: unasked, sandboxId: "sbx", source: "process" as const, retainBytes: 1024 }
      const followed = yield* followProcess({ ...options, key: "op_followed_first", isNew: true })
      assert.strictEqual(followed.exited?.exitCode, 0)
      assert.strictEqual((yield* output.offsets("op_followed_first")).stdout, 50)
    })
  )

  for (const { what, kept } of [
    { what: "the last bytes", kept: 70 },
    { what: "all of it", kept: 0 }
  ]) {
    it.effect(`ends with all the output though the database lost ${what} that it had stored before the end`, () =>
      Effect.gen(function* () {
        const output = yield* Output
        const key = `op_forgot_${kept}`
        const stdout = digits(200)
        const { guest, asked } = guestThatWrote(stdout)
        const sql = yield* SqlClient.SqlClient
        let crashes = 1
        const crashing = Output.of({
          ...output,
          append: (chunks) =>
            Effect.gen(function* () {
              // A chunk every ten bytes, so that the crash can be between any two.
              for (const one of chunks) {
                for (let at = 0; at < one.bytes.length; at += 10) {
                  const offset = one.offset + at
                  yield* output.append([{ ...one, follows: offset, offset, bytes: one.bytes.subarray(at, at + 10) }])
                }
              }
              if (crashes-- > 0) yield* forgetFrom(key, kept).pipe(Effect.provideService(SqlClient.SqlClient, sql))
            })
        })
        const followed = yield* followProcess({
          guest,
          output: crashing,
          key,
          sandboxId: "sbx",
          source: "process",
          retainBytes: 1024
        })
        assert.strictEqual(followed.exited?.exitCode, 0)
        assert.deepStrictEqual(asked, [0, kept])
        const page = yield* output.read(key, "stdout", 0, 1000)
        assert.deepStrictEqual([page.truncated, page.totalBytes], [false, 200])
        assert.deepStrictEqual(Buffer.from(page.bytes), stdout)
      })
    )
  }

  it.effect("requests again the output that the database lost while the command is silent", () =>
    Effect.gen(function* () {
      const output = yield* Output
      const sql = yield* SqlClient.SqlClient
      const key = "op_forgot_quietly"
      const askedAgain = Promise.withResolvers<void>()
      const told: Array<number> = []
      let attached = 0
      const processes: Partial<GuestProcesses> = {
        attach: () => {
          if (++attached === 2) askedAgain.resolve()
          return Stream.concat(Stream.make(words), Stream.never)
        },
        acknowledge: (_key, { stdoutOffset }) => Effect.sync(() => void told.push(stdoutOffset))
      }
      const forgetful = Output.of({
        ...output,
        append: (chunks) =>
          Effect.andThen(
            output.append(chunks),
            attached === 1 ? forgetFrom(key, 0).pipe(Effect.provideService(SqlClient.SqlClient, sql)) : Effect.void
          )
      })
      yield* Effect.forkScoped(
        followProcess({
          guest: { processes } as Guest,
          output: forgetful,
          key,
          sandboxId: "sbx",
          source: "process",
          retainBytes: 1024
        })
      )
      yield* Effect.promise(() => askedAgain.promise)
      assert.deepStrictEqual(told, [])
    })
  )

  it.effect("lets the guest discard only what the database has flushed", () =>
    Effect.gen(function* () {
      const output = yield* Output
      const steps: Array<string> = []
      const told = Promise.withResolvers<void>()
      const processes: Partial<GuestProcesses> = {
        attach: () => Stream.concat(Stream.make(words), Stream.never),
        acknowledge: (_key, { stdoutOffset }) =>
          Effect.sync(() => {
            steps.push(`told ${stdoutOffset}`)
            told.resolve()
          })
      }
      const watched = Output.of({
        ...output,
        durable: (ownerId) =>
          Effect.tap(output.durable(ownerId), ({ stdout }) => Effect.sync(() => steps.push(`flushed ${stdout}`)))
      })
      yield* Effect.forkScoped(
        followProcess({
          guest: { processes } as Guest,
          output: watched,
          key: "op_flushed",
          sandboxId: "sbx",
          source: "process",
          retainBytes: 1024
        })
      )
      yield* Effect.promise(() => told.promise)
      assert.deepStrictEqual(steps, ["flushed 12", "told 12"])
    })
  )

  it.effect("reports lost bytes that the guest reports as lost, at the start and at the end", () =>
    Effect.gen(function* () {
      const output = yield* Output
      const { guest, acknowledged } = guestThatWrote(digits(200))
      acknowledged.push(150)
      const follow = (key: string) =>
        followProcess({ guest, output, key, sandboxId: "sbx", source: "process", retainBytes: 1024 })
      yield* follow("op_begun")
      const begun = yield* output.read("op_begun", "stdout", 0, 1000)
      assert.deepStrictEqual([begun.offset, begun.nextOffset, begun.truncated], [150, 200, true])
      acknowledged.push(200)
      yield* follow("op_ended")
      const ended = yield* output.read("op_ended", "stdout", 0, 1000)
      assert.deepStrictEqual([ended.offset, ended.nextOffset, ended.truncated], [200, 200, true])
    })
  )

  it.effect("gives up a guest whose offsets exceed a number's exact range", () =>
    Effect.gen(function* () {
      const output = yield* Output
      const beyond: OutputFrame = {
        type: "output",
        stream: "stdout",
        offset: Number.MAX_SAFE_INTEGER - 1,
        bytes: Buffer.from("abc")
      }
      const processes: Partial<GuestProcesses> = {
        attach: () => Stream.concat(Stream.make(beyond), Stream.never),
        acknowledge: () => Effect.void
      }
      const { exited } = yield* followProcess({
        guest: { processes } as Guest,
        output,
        key: "op_beyond",
        sandboxId: "sbx",
        source: "process",
        retainBytes: 1024
      })
      assert.isNull(exited)
    })
  )

  for (const { where, attach } of [
    { where: "what is attached", attach: () => Stream.concat(Stream.make(words), Stream.die(new Error("broken"))) },
    {
      where: "attaching itself",
      attach: () => {
        throw new Error("broken")
      }
    }
  ]) {
    it.effect(`ends with a typed fault when there is a defect in ${where}`, () =>
      Effect.gen(function* () {
        const output = yield* Output
        const processes: Partial<GuestProcesses> = { attach, acknowledge: () => Effect.void }
        const fault = yield* followProcess({
          guest: { processes } as Guest,
          output,
          key: `op_defect_${where}`,
          sandboxId: "sbx",
          source: "process",
          retainBytes: 1024
        }).pipe(Effect.timeout("10 seconds"), Effect.catchDefect(Effect.succeed), Effect.flip)
        assert.deepInclude(fault, { _tag: "GuestUnavailable", fault: "lost" })
      })
    )
  }

  it.effect("applies backpressure to a guest while its last frames are being stored", () =>
    Effect.gen(function* () {
      const output = yield* Output
      const release = Promise.withResolvers<void>()
      const stalled = Promise.withResolvers<void>()
      let sent = 0
      const endless = Stream.fromEffectRepeat(
        Effect.suspend(() => {
          const offset = sent++
          return Effect.yieldNow.pipe(
            Effect.as<ProcessFrame>({ type: "output", stream: "stdout", offset, bytes: Buffer.from("x") })
          )
        })
      )
      const processes: Partial<GuestProcesses> = { attach: () => endless, acknowledge: () => Effect.void }
      const slow = Output.of({
        ...output,
        append: () =>
          Effect.promise(() => {
            stalled.resolve()
            return release.promise
          })
      })
      yield* Effect.forkScoped(
        followProcess({
          guest: { processes } as Guest,
          output: slow,
          key: "op_endless",
          sandboxId: "sbx",
          source: "process",
          retainBytes: 1024
        })
      )
      yield* Effect.promise(() => stalled.promise)
      // Each pass of the loop has room for one more frame: an unbounded queue would take them all.
      const before = sent
      for (let turn = 0; turn < 10_000; turn++) yield* Effect.yieldNow
      assert.isBelow(sent - before, 200)
      release.resolve()
    })
  )

  it.effect("does not store output that retention would forget immediately, and reports it as lost", () =>
    Effect.gen(function* () {
      const output = yield* Output
      const stdout = Buffer.concat([Buffer.alloc(200_000, "a"), Buffer.alloc(64 * 1024, "b")])
      const stored: Array<number> = []
      const { guest } = guestThatWrote(stdout)
      const all: ProcessFrame = { type: "output", stream: "stdout", offset: 0, bytes: stdout }
      const atOnce = {
        ...guest,
        processes: {
          ...guest.processes,
          attach: () =>
            Stream.concat(
              Stream.make(all),
              guest.processes.attach("", { stdoutOffset: stdout.length, stderrOffset: 0 })
            )
        }
      } as Guest
      const watched = Output.of({
        ...output,
        append: (chunks) => {
          for (const { bytes } of chunks) stored.push(bytes.length)
          return output.append(chunks)
        }
      })
      yield* followProcess({
        guest: atOnce,
        output: watched,
        key: "op_skip",
        sandboxId: "sbx",
        source: "process",
        retainBytes: 1000
      })
      assert.isAtMost(
        stored.reduce((sum, bytes) => sum + bytes, 0),
        64 * 1024 + 1000
      )
      const page = yield* output.read("op_skip", "stdout", 0, 100_000)
      assert.deepStrictEqual(
        [page.offset, page.nextOffset, page.truncated, page.totalBytes],
        [stdout.length - 1000, stdout.length, true, stdout.length]
      )
      assert.deepStrictEqual(Buffer.from(page.bytes), Buffer.alloc(1000, "b"))
    })
  )
})
