/** A wait misses no change, whenever it happens, although it reads the operation only once before it listens. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { ActorHost } from "../../../src/engine/ActorHost.ts"
import { waitForOperation } from "../../../src/operation/waitForOperation.ts"
import { Shutdown } from "../../../src/platform/shutdown/Shutdown.ts"
import { Actors } from "../../../src/store/Actors.ts"
import { Output } from "../../../src/store/Output.ts"

const [accountId, sandboxId, operationId] = ["acc_wait", "sbx_wait", "op_wait"] as const

class World {
  status = "running"
  stdoutBytes = 0
  isOwn = true
  reads = 0
  /** Called after each read of the operation, before the reader has the answer. */
  afterRead = () => {}
  readonly listeners = new Set<() => void>()
  readonly followers = new Set<{ readonly after: number; readonly listener: () => void }>()
  readonly readers = new Set<() => void>()

  get revision(): number {
    return this.status === "running" ? 2 : 3
  }

  /** A commit by the owner, here or in another process. */
  commit(): void {
    this.status = "completed"
    if (this.isOwn) for (const listener of this.listeners) listener()
    for (const { after, listener } of this.followers) if (this.revision > after) listener()
  }

  append(): void {
    this.stdoutBytes++
    for (const reader of this.readers) reader()
  }

  readonly wait = (request: { readonly stdoutOffset: number | null }) =>
    Effect.flatMap(waitForOperation, (wait) =>
      wait(accountId, sandboxId, operationId, { timeoutSeconds: 30, stderrOffset: null, ...request })
    ).pipe(Effect.provide(Layer.mergeAll(this.#host, this.#actors, this.#output, Shutdown.layer)))

  /** A registration in one of the sets, as long as the scope. */
  readonly #registered = <A>(set: Set<A>, entry: A) =>
    Effect.acquireRelease(
      Effect.sync(() => set.add(entry)),
      () => Effect.sync(() => set.delete(entry))
    )

  readonly #host = Layer.succeed(ActorHost, {
    owns: () => this.isOwn,
    onCommit: (_machine: unknown, _id: string, listener: () => void) => this.#registered(this.listeners, listener),
    follow: (_machine: unknown, _id: string, after: number, listener: () => void) =>
      Effect.scoped(
        Effect.andThen(
          this.#registered(this.followers, { after, listener }),
          Effect.suspend(() => {
            if (this.revision > after) listener()
            return Effect.never
          })
        )
      )
  } as never)

  readonly #actors = Layer.succeed(Actors, {
    read: () =>
      Effect.sync(() => {
        this.reads++
        const { status, revision } = this
        const stored = { stdout: this.stdoutBytes, stderr: 0 }
        this.afterRead()
        const context = { operationId, sandboxId, createdAt: 1, startedAt: 1, finishedAt: null, processTree: "running" }
        const record = { id: operationId, kind: "operation", accountId, sandboxId, revision, status, createdAt: 1 }
        return { ...record, context, payload: { argv: ["true"], cwd: "/" }, stored }
      })
  } as never)

  readonly #output = Layer.succeed(Output, {
    onAppend: (_id: string, reader: () => void) => {
      this.readers.add(reader)
      return () => this.readers.delete(reader)
    }
  } as never)
}

/** Something that happens after the first read. */
const once = (world: World, happens: () => void) => {
  world.afterRead = () => {
    world.afterRead = () => {}
    happens()
  }
}

// The clock of these tests stands still, so nothing is found by the wait's own poll.
for (const isOwn of [true, false]) {
  it.effect(`sees a commit of ${isOwn ? "this" : "another"} process right after its first read`, () =>
    Effect.gen(function* () {
      const world = new World()
      world.isOwn = isOwn
      once(world, () => world.commit())
      assert.strictEqual((yield* world.wait({ stdoutOffset: null })).status, "completed")
      assert.deepStrictEqual([world.reads, world.listeners.size, world.followers.size], [2, 0, 0])
    })
  )
}

it.effect("sees output that was stored right after its first read", () =>
  Effect.gen(function* () {
    const world = new World()
    once(world, () => world.append())
    assert.strictEqual((yield* world.wait({ stdoutOffset: 0 })).output.stdoutBytes, 1)
    assert.strictEqual(world.readers.size, 0)
  })
)

it.effect("reads an operation that has ended once", () =>
  Effect.gen(function* () {
    const world = new World()
    world.commit()
    assert.strictEqual((yield* world.wait({ stdoutOffset: null })).status, "completed")
    assert.strictEqual(world.reads, 1)
  })
)
