/** The commands of snapshots and forks, for `killed.test.ts`. */
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { assert } from "@effect/vitest"
import { untilFound } from "../../../support/until.ts"
import { type Case, gathered, isDone, lostAndUnheard, marked, requested } from "./killedCase.ts"

export const snapshotCases: Readonly<Record<string, Case>> = {
  ...lostAndUnheard("fork", requested("POST", "/fork"), async ({ atoll, begin, mark, restart }, hold) => {
    const command = await begin(["fork", "dev", "--name", mark, "-m", `mark=${mark}`], hold)
    await restart()
    const id = isDone(await command.ended).trim()
    const made = await marked(atoll, mark)
    assert.deepStrictEqual(
      made.map((sandbox) => [sandbox.id, sandbox.status]),
      [[id, "running"]]
    )
    await made[0]!.delete()
  }),
  // Not of the Sandbox that the other commands use: it ends what runs.
  ...lostAndUnheard("rollback", requested("POST", "/rollback"), async ({ another, begin, mark, restart }, hold) => {
    const own = await another()
    const snapshot = await own.snapshot({ name: mark })
    const { generation } = (await own.refresh()).record
    const command = await begin(["rollback", own.id, snapshot.id, "--no-keep"], hold)
    await restart()
    assert.strictEqual(isDone(await command.ended).trim(), "")
    const { record } = await own.refresh()
    assert.deepStrictEqual([record.status, record.generation], ["running", generation + 1])
    await own.delete()
    await snapshot.delete()
  }),
  ...lostAndUnheard(
    "snapshots create",
    requested("POST", "/snapshots"),
    async ({ atoll, begin, mark, restart }, hold) => {
      const command = await begin(["snapshots", "create", "dev", "--name", mark], hold)
      await restart()
      const id = isDone(await command.ended).trim()
      const taken = (await gathered(atoll.snapshots.list())).filter(({ record }) => record.name === mark)
      assert.deepStrictEqual(
        taken.map(({ id, record }) => [id, record.status]),
        [[id, "ready"]]
      )
      await taken[0]!.delete()
    }
  ),
  "snapshots list": async ({ begin, mark, restart, sandbox }) => {
    const snapshot = await sandbox.snapshot({ name: mark })
    const command = await begin(["snapshots", "list", "-q"], { line: /^GET \/api\/v2\/snapshots\?/ })
    await restart()
    assert.include(isDone(await command.ended).split("\n"), snapshot.id)
    await snapshot.delete()
  },
  "snapshots show": async ({ begin, mark, restart, sandbox }) => {
    const snapshot = await sandbox.snapshot({ name: mark })
    const words = ["snapshots", "show", snapshot.id, "--json"]
    const command = await begin(words, { line: /^GET \/api\/v2\/snapshots\/snp_/ })
    await restart()
    assert.include(JSON.parse(isDone(await command.ended)).snapshot, { id: snapshot.id, name: mark })
    await snapshot.delete()
  },
  "snapshots export": async ({ begin, folder, mark, restart, sandbox }) => {
    const snapshot = await sandbox.snapshot({ name: mark })
    const file = join(folder, "snapshot")
    const command = await begin(["snapshots", "export", snapshot.id, file], {
      line: /^GET \/api\/v2\/snapshots\/snp_\w+\/content/
    })
    await restart()
    assert.include(isDone(await command.ended), `${file} has ${snapshot.id}`)
    // Nothing is beside it.
    assert.deepStrictEqual(
      readdirSync(folder).filter((name) => name.startsWith("snapshot")),
      ["snapshot"]
    )
    await snapshot.delete()
  },
  ...lostAndUnheard(
    "snapshots import",
    /^POST \/api\/v2\/snapshots\?/,
    async ({ atoll, begin, folder, mark, restart, sandbox }, hold) => {
      const snapshot = await sandbox.snapshot()
      const file = join(folder, "snapshot")
      await snapshot.export(file)
      await snapshot.delete()
      const command = await begin(["snapshots", "import", file, "--name", mark], hold)
      await restart()
      const id = isDone(await command.ended).trim()
      const made = (await gathered(atoll.snapshots.list())).filter(({ record }) => record.name === mark)
      assert.deepStrictEqual(
        made.map((one) => [one.id, one.status]),
        [[id, "ready"]]
      )
      await made[0]!.delete()
    }
  ),
  ...lostAndUnheard(
    "snapshots delete",
    /^DELETE \/api\/v2\/snapshots\/snp_/,
    async ({ atoll, begin, mark, restart, sandbox }, hold) => {
      const snapshot = await sandbox.snapshot({ name: mark })
      const command = await begin(["snapshots", "delete", snapshot.id], hold)
      await restart()
      assert.strictEqual(isDone(await command.ended), `${snapshot.id} (${mark}) is deleted.\n`)
      await untilFound(async () => (await atoll.snapshots.get(snapshot.id)).record.status === "deleted")
    }
  )
}
