/** The content of snapshots between a service and a host on another machine. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { publicText } from "../../../../schemas/PublicText.ts"
import { simulatedRuntime } from "../../../../src/host/simulated/SimulatedRuntime.ts"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { distantRuntime } from "../../../../src/runtime/distant/distantRuntime.ts"
import { type ImagePiece, type Runtime, RuntimeRefused } from "../../../../src/runtime/Runtime.ts"
import { Link } from "../../../support/runtime/distant/Link.ts"
import { hostId, peers, served } from "../../../support/runtime/distant/TestDistant.ts"
import { until } from "../../../support/until.ts"

const MiB = 1024 ** 2
const sizeBytes = 256 * MiB

/** Pieces of a mebibyte with a gap behind each; `read` counts them. */
const content = (count: number, read: { pieces: number } = { pieces: 0 }, fault: Error | null = null) =>
  async function* (): AsyncGenerator<ImagePiece> {
    for (let index = 0; index < count; index++) {
      read.pieces++
      yield { offset: index * 2 * MiB, bytes: Buffer.alloc(MiB, `piece ${index}`) }
    }
    if (fault !== null) throw fault
  }

/** A host behind a link, with a snapshot "big" of such content. */
const far = Effect.fnUntraced(function* (pieces: () => AsyncGenerator<ImagePiece>) {
  const world = yield* SimulatedWorld.make
  const near = simulatedRuntime(world)
  const big: Runtime["Service"] = {
    ...near,
    snapshots: {
      ...near.snapshots,
      read: (snapshotId, of) =>
        snapshotId === "big"
          ? Effect.succeed({ sizeBytes, owner: 100_000, pieces: pieces() })
          : near.snapshots.read(snapshotId, of)
    }
  }
  const link = yield* Link.to((yield* served(big)).port)
  const { snapshots } = yield* distantRuntime(hostId, { host: "127.0.0.1", port: link.port })
  return { world, link, snapshots }
})

const gathered = async (pieces: AsyncIterable<ImagePiece>): Promise<ReadonlyArray<ImagePiece>> => {
  const all: Array<ImagePiece> = []
  for await (const piece of pieces) all.push(piece)
  return all
}

const plain = (pieces: ReadonlyArray<ImagePiece> | undefined) =>
  pieces?.map(({ offset, bytes }) => [offset, bytes.length, Buffer.from(bytes.subarray(0, 9)).toString()])

const image = (pieces: AsyncIterable<ImagePiece>) => ({ sizeBytes, owner: null, pieces })

it.live("arrives whole in both directions, with its size and owner", () =>
  Effect.gen(function* () {
    const { world, snapshots } = yield* far(content(8))
    const read = yield* snapshots.read("big", hostId)
    assert.deepInclude(read, { sizeBytes, owner: 100_000 })
    const expected = yield* Effect.promise(() => gathered(content(8)()))
    assert.deepStrictEqual(plain(yield* Effect.promise(() => gathered(read.pieces))), plain(expected))
    assert.deepStrictEqual(yield* snapshots.receive("copy", image(content(8)()), "namespace"), { hostId })
    assert.deepStrictEqual(plain(world.imported.get("copy")), plain(expected))
    assert.deepInclude(yield* snapshots.accept("copy", hostId), { hostId })
    assert.deepStrictEqual([...world.snapshots.keys()], ["copy"])
    assert.deepInclude(yield* Effect.flip(snapshots.read("none", hostId)), { code: "SNAPSHOT_MISSING" })
  }).pipe(Effect.scoped, Effect.provide(peers))
)

it.live("is read from the host no faster than its consumer takes it", () =>
  Effect.gen(function* () {
    const read = { pieces: 0 }
    const { snapshots } = yield* far(content(128, read))
    const { pieces } = yield* snapshots.read("big", hostId)
    const iterator = pieces[Symbol.asyncIterator]()
    yield* Effect.promise(() => iterator.next())
    let before = -1
    yield* until(
      Effect.sync(() => read.pieces),
      (now) => {
        const isStill = now === before
        before = now
        return isStill && now > 1
      }
    )
    assert.isBelow(read.pieces, 40)
    yield* Effect.promise(() => iterator.return!())
  }).pipe(Effect.scoped, Effect.provide(peers))
)

it.live("ends with an error where the link or its source breaks, and leaves nothing on the host", () =>
  Effect.gen(function* () {
    const { world, link, snapshots } = yield* far(content(128))
    const { pieces } = yield* snapshots.read("big", hostId)
    const cut = yield* Effect.promise(async () => {
      try {
        let count = 0
        for await (const _ of pieces) if (++count === 3) link.cut()
        return null
      } catch (cause) {
        return cause
      }
    })
    assert.instanceOf(cut, Error)
    link.mend()

    const faulty = image(content(3, { pieces: 0 }, new Error("the upload broke off"))())
    assert.deepInclude(yield* Effect.flip(snapshots.receive("half", faulty, "namespace")), {
      _tag: "RuntimeUnavailable"
    })
    const cutting = async function* () {
      for await (const piece of content(128)()) {
        if (piece.offset === 6 * MiB) link.cut()
        yield piece
      }
    }
    assert.deepInclude(yield* Effect.flip(snapshots.receive("half", image(cutting()), "namespace")), {
      _tag: "RuntimeUnavailable"
    })
    link.mend()
    assert.isFalse(world.imported.has("half"))
    const missing = snapshots
      .accept("half", hostId)
      .pipe(Effect.flip, Effect.repeat({ until: ({ _tag }) => _tag === "RuntimeRefused" }))
    assert.deepInclude(yield* missing, { code: "SNAPSHOT_MISSING" })
  }).pipe(Effect.scoped, Effect.provide(peers))
)

it.live("is not read where the host refuses it", () =>
  Effect.gen(function* () {
    const { world, snapshots } = yield* far(content(1))
    world.intercept = (call) =>
      call === "receive"
        ? Effect.fail(new RuntimeRefused({ code: "HOST_FULL", message: publicText`No room.` }))
        : Effect.void
    const read = { pieces: 0 }
    const refused = yield* Effect.flip(snapshots.receive("copy", image(content(1, read)()), "namespace"))
    assert.deepInclude(refused, { _tag: "RuntimeRefused", code: "HOST_FULL" })
    assert.strictEqual(read.pieces, 0)
  }).pipe(Effect.scoped, Effect.provide(peers))
)
