import fs from "node:fs"
import type { Readable } from "node:stream"
import { buffer } from "node:stream/consumers"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { type FileRefused, GuestUnavailable } from "../../../src/runtime/Guest.ts"
import { TestAgent } from "../../support/files/TestAgent.ts"
import { TestWorkspace } from "../../support/files/TestWorkspace.ts"
import { until } from "../../support/until.ts"
import { upload } from "../../support/upload.ts"

const W = "/workspace"
const MiB = 1024 * 1024

const workspace = Effect.acquireRelease(
  Effect.sync(() => new TestWorkspace()),
  (at) => Effect.sync(() => at[Symbol.dispose]())
)

const agentAt = (at: TestWorkspace) =>
  Effect.acquireRelease(
    Effect.promise(() => TestAgent.start(at.base)),
    (agent) => Effect.promise(() => agent.kill())
  )

const started = Effect.gen(function* () {
  const at = yield* workspace
  return { at, agent: yield* agentAt(at) }
})

const bytesOf = (body: Readable) => Effect.promise(() => buffer(body))

const pieces = (total: Buffer, size = 64 * 1024) =>
  Array.from({ length: Math.ceil(total.byteLength / size) }, (_, index) =>
    total.subarray(index * size, (index + 1) * size)
  )

const chunks = (total: Buffer, size?: number) => upload(pieces(total, size))

describe("files through the agent", () => {
  it.live("8 MiB are read as they were written", () =>
    Effect.gen(function* () {
      const { at, agent } = yield* started
      const content = Buffer.alloc(8 * MiB, "0123456789abcdef-")
      yield* agent.files.write(`${W}/big`, chunks(content))
      expect(fs.readFileSync(at.on("big")).equals(content)).toBe(true)
      const range = yield* agent.files.read(`${W}/big`, { offset: 0, maxBytes: 8 * MiB, version: null })
      expect(range).toMatchObject({ offset: 0, nextOffset: 8 * MiB, sizeBytes: 8 * MiB, eof: true })
      expect((yield* bytesOf(range.body)).equals(content)).toBe(true)
      const part = yield* agent.files.read(`${W}/big`, { offset: 5, maxBytes: 7, version: range.version })
      expect((yield* bytesOf(part.body)).toString()).toBe("56789ab")
      expect(part.eof).toBe(false)
      yield* agent.files.write(`${W}/empty`, upload([]))
      const nothing = yield* agent.files.read(`${W}/empty`, { offset: 9, maxBytes: 7, version: null })
      expect((yield* bytesOf(nothing.body)).byteLength).toBe(0)
      expect(nothing).toMatchObject({ offset: 9, nextOffset: 9, sizeBytes: 0, eof: true })
    }).pipe(Effect.scoped)
  )

  it.live("every other call works, and refuses with the contract's codes", () =>
    Effect.gen(function* () {
      const { at, agent } = yield* started
      const { files } = agent
      const code = <A>(call: Effect.Effect<A, FileRefused | GuestUnavailable | "broken off">) =>
        Effect.match(call, {
          onSuccess: () => "ok",
          onFailure: (error) => (typeof error === "string" ? error : "code" in error ? error.code : error.message)
        })
      yield* files.createDirectory(`${W}/a/b`, { recursive: true })
      yield* files.write(`${W}/a/b/f`, upload([Buffer.from("one two")]))
      yield* files.rename(`${W}/a/b/f`, `${W}/a/ü`, { overwrite: false })
      expect(yield* files.stat(`${W}/a/ü`)).toMatchObject({ name: "ü", type: "file", sizeBytes: 7, mode: "0644" })
      const { createHash } = yield* Effect.promise(() => import("node:crypto"))
      const hash = (text: string) => createHash("sha256").update(text).digest("hex")
      expect(
        yield* files.edit(`${W}/a/ü`, {
          expectedSha256: hash("one two"),
          oldText: "two",
          newText: "2",
          replaceAll: false
        })
      ).toEqual({ sizeBytes: 5, sha256: hash("one 2"), replacements: 1 })
      expect(
        (yield* files.list(`${W}/a`, { pageSize: 10, after: null })).entries.map(({ name }) => name).toSorted()
      ).toEqual(["b", "ü"])
      expect(yield* code(files.createDirectory(`${W}/a`, { recursive: false }))).toBe("ALREADY_EXISTS")
      expect(yield* code(files.stat(`${W}/none`))).toBe("NOT_FOUND")
      expect(yield* code(files.stat(`/etc/passwd`))).toBe("INVALID_PATH")
      expect(yield* code(files.remove(`${W}/a`, { recursive: false }))).toBe("DIRECTORY_NOT_EMPTY")
      expect(yield* code(files.write(`${W}/none/f`, chunks(Buffer.alloc(4 * MiB))))).toBe("NOT_FOUND")
      expect(yield* code(files.write(`${W}/large`, chunks(Buffer.alloc(8 * MiB + 1))))).toBe("PAYLOAD_TOO_LARGE")
      expect(yield* code(files.write(`${W}/${"\u{1f600}".repeat(63)}`, upload([Buffer.from("x")])))).toBe("ok")
      yield* files.remove(`${W}/a`, { recursive: true })
      expect(at.tree()).toHaveLength(1)
    }).pipe(Effect.scoped)
  )

  it.live("a path of 4096 four-byte characters reaches the agent", () =>
    Effect.gen(function* () {
      const { agent } = yield* started
      const segment = "\u{1f600}".repeat(63)
      const path = `${W}${`/${segment}`.repeat(63)}`
      yield* agent.files.createDirectory(path, { recursive: true })
      yield* agent.files.write(`${path}/f`, upload([Buffer.from("deep")]))
      expect((yield* agent.files.stat(`${path}/f`)).sizeBytes).toBe(4)
    }).pipe(Effect.scoped)
  )

  const interruptions: ReadonlyArray<readonly [string, (agent: TestAgent) => Effect.Effect<unknown>]> = [
    ["the caller gives up", () => Effect.void],
    ["the service is gone", (agent) => Effect.sync(() => agent.cutConnections())],
    ["the agent is killed", (agent) => Effect.promise(() => agent.kill())]
  ]
  it.live.each(interruptions)(
    "in the middle of a write %s: the old content stays, and no staging file",
    ([_, interrupt]) =>
      Effect.gen(function* () {
        const { at, agent } = yield* started
        at.put("file", "old")
        let reached = false
        const body = async function* () {
          yield* pieces(Buffer.alloc(2 * MiB))
          reached = true
          yield Buffer.from("x")
          await new Promise(() => {})
        }
        const writing = yield* Effect.forkChild(agent.files.write(`${W}/file`, upload(body())))
        yield* until(
          Effect.sync(() => reached),
          Boolean
        )
        yield* until(
          Effect.sync(() => fs.existsSync(at.on(".atoll-staging"))),
          Boolean
        )
        yield* interrupt(agent)
        yield* Fiber.interrupt(writing)
        const again = yield* Effect.scoped(
          Effect.gen(function* () {
            const next = yield* agentAt(at)
            return yield* Effect.exit(next.files.stat(`${W}/file`))
          })
        )
        expect(Exit.isSuccess(again)).toBe(true)
        yield* until(
          Effect.sync(() => !fs.existsSync(at.on(".atoll-staging"))),
          Boolean
        )
        expect(at.tree()).toEqual(["file: old"])
      }).pipe(Effect.scoped)
  )

  it.live("a body that fails is not written, and the caller gets its failure", () =>
    Effect.gen(function* () {
      const { at, agent } = yield* started
      at.put("file", "old")
      const body = async function* () {
        yield* pieces(Buffer.alloc(MiB))
        throw new Error("reset")
      }
      const failure = yield* Effect.flip(agent.files.write(`${W}/file`, upload(body())))
      expect(failure).toBe("broken off")
      yield* until(
        Effect.sync(() => !fs.existsSync(at.on(".atoll-staging"))),
        Boolean
      )
      expect(at.tree()).toEqual(["file: old"])
    }).pipe(Effect.scoped)
  )

  it.live("a file that is truncated during a read fails the body and never shortens it", () =>
    Effect.gen(function* () {
      const { at, agent } = yield* started
      at.put("file")
      fs.truncateSync(at.on("file"), 2 ** 40)
      const range = yield* agent.files.read(`${W}/file`, { offset: 0, maxBytes: 2 ** 39, version: null })
      let seen = 0
      const failure = yield* Effect.flip(
        Effect.tryPromise({
          try: async () => {
            for await (const chunk of range.body) {
              seen += chunk.byteLength
              if (seen > 4 * MiB) fs.truncateSync(at.on("file"), 0)
            }
          },
          catch: (cause) => cause
        })
      )
      expect(failure).toBeInstanceOf(GuestUnavailable)
    }).pipe(Effect.scoped)
  )

  it.live("10 concurrent writers and 40 readers do not stall the session", () =>
    Effect.gen(function* () {
      const { agent } = yield* started
      const whole = Buffer.alloc(100_000, "x")
      const write = Effect.suspend(() => agent.files.write(`${W}/f`, chunks(whole, 40_000)))
      const read = Effect.scoped(
        Effect.flatMap(agent.files.read(`${W}/f`, { offset: 0, maxBytes: MiB, version: null }), ({ body }) =>
          bytesOf(body)
        )
      )
      yield* write
      for (let round = 0; round < 8; round += 1) {
        const both = [...Array(40).fill(read), ...Array(10).fill(write)] as ReadonlyArray<typeof read>
        yield* Effect.timeout(Effect.all(both, { concurrency: "unbounded" }), 30_000)
      }
      expect((yield* read).equals(whole)).toBe(true)
    }).pipe(Effect.scoped)
  )

  it.live("after kill -9 at random instants of many writes every file is whole, old or new", () =>
    Effect.gen(function* () {
      const at = yield* workspace
      const whole = (letter: number) => Buffer.alloc(300_000, letter)
      for (let file = 0; file < 4; file += 1) at.put(String(file), whole(65))
      for (let round = 0; round < 6; round += 1) {
        yield* Effect.scoped(
          Effect.gen(function* () {
            const agent = yield* agentAt(at)
            yield* agent.files.stat(W)
            const writers = yield* Effect.forkChild(
              Effect.all(
                [0, 1, 2, 3].map((file) =>
                  Effect.ignore(
                    Effect.forever(
                      Effect.suspend(() => agent.files.write(`${W}/${file}`, chunks(whole(66 + (round % 20)))))
                    )
                  )
                ),
                { concurrency: "unbounded" }
              )
            )
            yield* Effect.sleep(20 + 11 * round)
            yield* Effect.promise(() => agent.kill())
            yield* Fiber.interrupt(writers)
          })
        )
        for (let file = 0; file < 4; file += 1) {
          const content = fs.readFileSync(at.on(String(file)))
          expect(content.equals(whole(content[0]!))).toBe(true)
        }
      }
      const last = yield* agentAt(at)
      yield* last.files.stat(W)
      expect(fs.readdirSync(at.root).toSorted()).toEqual(["0", "1", "2", "3"])
    }).pipe(Effect.scoped)
  )
})
