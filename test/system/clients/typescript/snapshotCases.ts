/** The cases of killed.test.ts for snapshots and forks. */
import { mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { assert } from "vitest"
import {
  type Atoll,
  ConnectionError,
  type SandboxHandle,
  type SnapshotHandle
} from "../../../../clients/typescript/src/index.ts"

interface World {
  readonly atoll: Atoll
  readonly sandbox: SandboxHandle
  readonly round: string
  readonly now: () => Promise<void>
  readonly back: () => Promise<unknown>
}

const gathered = async <A>(things: AsyncIterable<A>): Promise<Array<A>> => {
  const all: Array<A> = []
  for await (const thing of things) all.push(thing)
  return all
}

/** The same as without a kill. */
const same =
  (call: (snapshot: SnapshotHandle, world: World) => Promise<unknown>) =>
  async (world: World): Promise<void> => {
    const snapshot = await world.sandbox.snapshot()
    const before = await call(snapshot, world)
    await world.now()
    assert.deepStrictEqual(await call(snapshot, world), before)
    await snapshot.delete()
  }

export const snapshotCases: Readonly<Record<string, (world: World) => Promise<void>>> = {
  "Sandbox.snapshot": async ({ atoll, sandbox, round, now }) => {
    const name = `taken-${round}`
    await now()
    const made = await sandbox.snapshot({ name })
    assert.strictEqual(made.status, "ready")
    const all = (await gathered(atoll.snapshots.list())).filter(({ record }) => record.name === name)
    assert.deepStrictEqual(
      all.map(({ id }) => id),
      [made.id]
    )
    await made.delete()
  },
  "Sandbox.fork": async ({ atoll, sandbox, round, now }) => {
    const name = `fork-${round}`
    await now()
    const { sandboxes, refused, snapshot } = await sandbox.fork({ names: [name] })
    assert.deepStrictEqual(refused, [])
    const all = (await gathered(atoll.sandboxes.list())).filter(({ record }) => record.name === name)
    assert.deepStrictEqual(
      all.map(({ id, status }) => [id, status]),
      sandboxes.map(({ id }) => [id, "running"])
    )
    assert.lengthOf(all, 1)
    await sandboxes[0]!.delete()
    await snapshot.delete()
  },
  "Sandbox.rollback": async ({ atoll, now }) => {
    // Not the Sandbox that the other methods use: it ends what runs.
    const own = await atoll.sandboxes.create({ networkEnabled: false })
    await own.files.write("file", "then")
    const snapshot = await own.snapshot()
    await own.files.write("file", "now")
    const { generation } = (await own.refresh()).record
    await now()
    const kept = await own.rollback(snapshot)
    assert.strictEqual(kept?.status, "ready")
    const { record } = await own.refresh()
    assert.deepStrictEqual([record.status, record.generation], ["running", generation + 1])
    assert.strictEqual(await own.files.read("file"), "then")
    await own.delete()
    await snapshot.delete()
    await kept?.delete()
  },
  "Sandbox.lineage": same(async (_, { sandbox }) => (await sandbox.lineage()).parents),
  "Snapshots.get": same(async ({ id }, { atoll }) => (await atoll.snapshots.get(id)).record),
  "Snapshots.list": same(async (snapshot, { atoll }) =>
    (await gathered(atoll.snapshots.list())).some(({ id }) => id === snapshot.id)
  ),
  "Snapshot.export": async ({ sandbox, now }) => {
    const snapshot = await sandbox.snapshot()
    const file = join(mkdtempSync(join(tmpdir(), "atoll-killed-")), "snapshot")
    await now()
    const { bytes } = await snapshot.export(file)
    assert.strictEqual(statSync(file).size, bytes)
    rmSync(dirname(file), { recursive: true })
    await snapshot.delete()
  },
  "Snapshots.import": async ({ atoll, sandbox, round, now }) => {
    const snapshot = await sandbox.snapshot()
    const file = join(mkdtempSync(join(tmpdir(), "atoll-killed-")), "snapshot")
    await snapshot.export(file)
    await snapshot.delete()
    const name = `imported-${round}`
    await now()
    const made = await atoll.snapshots.import(file, { name })
    assert.strictEqual(made.status, "ready")
    const all = (await gathered(atoll.snapshots.list())).filter(({ record }) => record.name === name)
    assert.deepStrictEqual(
      all.map(({ id }) => id),
      [made.id]
    )
    rmSync(dirname(file), { recursive: true })
    await made.delete()
  },
  "Snapshot.refresh": same(async (snapshot) => (await snapshot.refresh()).record),
  "Snapshot.untilReady": async ({ sandbox, now }) => {
    const snapshot = await sandbox.snapshot({ untilReady: false })
    await now()
    assert.strictEqual((await snapshot.untilReady()).status, "ready")
    await snapshot.delete()
  },
  "Snapshot.update": async ({ sandbox, now, back }) => {
    const snapshot = await sandbox.snapshot()
    await now()
    try {
      await snapshot.update({ name: "changed" })
    } catch (thrown) {
      if (!(thrown instanceof ConnectionError) || thrown.outcome !== "unknown") throw thrown
    }
    await back()
    assert.include([null, "changed"], (await snapshot.refresh()).record.name)
    await snapshot.delete()
  },
  "Snapshot.delete": async ({ sandbox, now }) => {
    const snapshot = await sandbox.snapshot()
    await now()
    await snapshot.delete()
    assert.include(["deleting", "deleted"], (await snapshot.refresh()).status)
  },
  "Snapshot.transitions": same(async (snapshot) =>
    (await gathered(snapshot.transitions())).map(({ revision }) => revision)
  )
}
