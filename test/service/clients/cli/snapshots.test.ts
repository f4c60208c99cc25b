/** `atoll snapshots`, `atoll fork` and `atoll sandbox create --snapshot`, as a customer types them, on simulated machines. */
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { scopes } from "../../../../schemas/Access.ts"
import type { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { withinMs } from "../../../support/commandLine.ts"
import { compiledOnce } from "../../../support/compiledOnce.ts"
import { isOverAFleet } from "../../../support/fleet/isOverAFleet.ts"
import { TestApi } from "../../../support/http/TestApi.ts"

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

type Customer = (...words: ReadonlyArray<string>) => Promise<Ended>

const main = resolve("clients/typescript/src/cli/main.ts")

/** The command line of a new account. */
const withCustomer = (use: (atoll: Customer, world: SimulatedWorld) => Promise<void>) =>
  Effect.flatMap(TestApi, ({ newKey, port, world }) =>
    Effect.promise(async () => {
      const { secret } = await newKey(scopes, crypto.randomUUID())
      const login = { ATOLL_URL: `http://127.0.0.1:${port}`, ATOLL_API_KEY: secret }
      const env = { PATH: process.env["PATH"], ...compiledOnce, ...login }
      await use(
        (...words) =>
          new Promise((done) => {
            const child = execFile(process.execPath, [main, ...words], { env }, (_, stdout, stderr) =>
              done({ code: child.exitCode, stdout, stderr })
            )
          }),
        world
      )
    })
  )

const settings = { ATOLL_SANDBOXES_PER_ACCOUNT: "4", ATOLL_VOLUME_BYTES: "1048576" }

describe.skipIf(isOverAFleet)("the customer's command line", () => {
  layer(TestApi.layer(settings), { excludeTestServices: true })((it) => {
    it.effect(
      "takes a snapshot, shows and lists it, makes a Sandbox of it, and deletes it, by name and by id",
      () =>
        withCustomer(async (atoll) => {
          assert.strictEqual((await atoll("sandbox", "create", "--name", "dev")).code, 0)
          const taken = await atoll("snapshots", "create", "dev", "--name", "before", "--expires", "7d")
          assert.match(taken.stdout, /^snp_\w{26}\n$/)
          assert.deepStrictEqual([taken.code, taken.stderr], [0, ""])
          const id = taken.stdout.trim()
          const { snapshot } = JSON.parse((await atoll("snapshots", "show", "before", "--json")).stdout)
          assert.deepInclude(snapshot, { id, name: "before", status: "ready" })
          const inDays = (Date.parse(snapshot.expiresAt) - Date.parse(snapshot.createdAt)) / 86_400_000
          assert.closeTo(inDays, 7, 0.01)
          assert.match((await atoll("snapshots", "show", id)).stdout, /^stored {10}\d[\d.]* \w+$/m)
          const listed = await atoll("snapshots", "list", "--sandbox", "dev")
          assert.match(listed.stdout, /^ID +NAME +STATUS +STORED +AGE +EXPIRES +SANDBOX\nsnp_\w+ +before +ready +\d/)

          const made = await atoll("sandbox", "create", "--snapshot", "before", "--json")
          assert.deepInclude(JSON.parse(made.stdout).sandbox, { snapshotId: id, status: "running" })
          const folder = mkdtempSync(join(tmpdir(), "atoll-cli-"))
          const file = join(folder, "before.atoll")
          const exported = await atoll("snapshots", "export", "before", file)
          assert.deepStrictEqual([exported.code, exported.stderr], [0, ""])
          assert.match(exported.stdout, new RegExp(`before\\.atoll has ${id} \\(\\d`))
          const imported = await atoll("snapshots", "import", file, "--name", "again", "--expires", "7d")
          assert.match(imported.stdout, /^snp_\w{26}\n$/)
          assert.match((await atoll("snapshots", "show", "again")).stdout, /^sandbox +none: it was imported$/m)
          assert.strictEqual((await atoll("snapshots", "delete", "again")).code, 0)
          const noFile = await atoll("snapshots", "import", join(folder, "none"))
          assert.strictEqual(noFile.code, 1)
          assert.match(noFile.stderr, /none/)
          rmSync(folder, { recursive: true })
          const absent = await atoll("sandbox", "create", "--snapshot", "after")
          assert.deepStrictEqual(
            [absent.code, absent.stderr],
            [1, 'atoll: There is no snapshot "after". `atoll snapshots list` shows the account\'s snapshots.\n']
          )
          const removed = await atoll("snapshots", "delete", "before", "after")
          assert.deepStrictEqual([removed.code, removed.stdout], [1, `${id} (before) is deleted.\n`])
          assert.match(removed.stderr, /^atoll: after: There is no snapshot "after"/)
          assert.strictEqual((await atoll("snapshots", "list", "-q")).stdout, "")
          const deleted = await atoll("snapshots", "list", "-q", "--status", "deleted")
          assert.strictEqual(deleted.stdout, imported.stdout + taken.stdout)
        }),
      withinMs
    )

    it.effect(
      "rolls a Sandbox back: the id of what its files became on stdout, which leads forward again",
      () =>
        withCustomer(async (atoll) => {
          await atoll("sandbox", "create", "--name", "dev")
          await atoll("snapshots", "create", "dev", "--name", "before")
          const kept = await atoll("rollback", "dev", "before")
          assert.deepStrictEqual([kept.code, kept.stderr], [0, ""])
          assert.match(kept.stdout, /^snp_\w{26}\n$/)
          const forward = await atoll("rollback", "dev", kept.stdout.trim(), "--no-keep", "--json")
          const { sandbox, kept: none } = JSON.parse(forward.stdout)
          assert.deepInclude(sandbox, { status: "running", generation: 3 })
          assert.isNull(none)
          assert.strictEqual((await atoll("rollback", "dev", "never")).code, 1)
        }),
      withinMs
    )

    it.effect(
      "keeps memory if it is asked for, in a snapshot and in a fork, and passes the refusal on where it cannot be kept",
      () =>
        withCustomer(async (atoll, world) => {
          await atoll("sandbox", "create", "--name", "dev")
          for (const words of [["snapshots", "create"], ["fork"]]) {
            const { code, stderr } = await atoll(...words, "dev", "--memory")
            assert.strictEqual(code, 1, words[0])
            assert.include(stderr, "cannot keep memory", words[0])
          }
          world.keepsMemory = true
          try {
            const id = (await atoll("snapshots", "create", "dev", "--memory")).stdout.trim()
            assert.match((await atoll("snapshots", "show", id)).stdout, /^memory +with its running processes$/m)
            const { snapshot, sandboxes } = JSON.parse((await atoll("fork", "dev", "--memory", "--json")).stdout)
            assert.isTrue(snapshot.memory)
            assert.strictEqual(sandboxes[0].status, "running")
            const without = (await atoll("snapshots", "create", "dev")).stdout.trim()
            assert.notMatch((await atoll("snapshots", "show", without)).stdout, /^memory/m)
          } finally {
            world.keepsMemory = false
          }
        }),
      withinMs
    )

    it.effect(
      "forks a Sandbox: ids on stdout, refusals on stderr and in the exit code; wrong words are refused before",
      () =>
        withCustomer(async (atoll) => {
          const source = (await atoll("sandbox", "create", "--name", "dev")).stdout.trim()
          const two = await atoll("fork", "dev", "-n", "2", "--name", "first", "-m", "try=1")
          assert.deepStrictEqual([two.code, two.stderr], [0, ""])
          const { sandboxes } = JSON.parse((await atoll("sandbox", "list", "--json", "--metadata", "try=1")).stdout)
          assert.deepStrictEqual(
            sandboxes.map(({ name }: { name: string }) => name),
            ["dev", "first"]
          )
          const ids = sandboxes.map(({ id }: { id: string }) => id)
          assert.sameMembers(two.stdout.trim().split("\n"), ids)
          const more = await atoll("fork", source, "--count", "3", "--json")
          const { snapshot, refused, sandboxes: third } = JSON.parse(more.stdout)
          assert.deepStrictEqual([more.code, third.length, refused.length], [1, 1, 2])
          assert.strictEqual(third[0].snapshotId, snapshot.id)
          assert.match(more.stderr, /^atoll: Copy 2 was refused: .+\natoll: Copy 3 was refused: .+\n$/)
          for (const wrong of [
            ["fork", source, "--count", "101"],
            ["fork", source, "--expires", "soon"],
            ["fork", source, "--memory", "--at-revision", "1"]
          ])
            assert.strictEqual((await atoll(...wrong)).code, 2, wrong.join(" "))
        }),
      withinMs
    )
  })
})
