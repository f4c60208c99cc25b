/** The commands of snapshots and forks, for `killed.test.ts`. */
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
