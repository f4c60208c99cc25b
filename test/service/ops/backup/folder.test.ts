/** The operator's page starts a backup, follows it, and lists what stands in the backup folder. */
import { spawn } from "node:child_process"
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { BackupPage } from "../../../../schemas/console/OperatedBackups.ts"
import { identify } from "../../../../src/host/linux/ProcessIdentity.ts"
import { lastRunIn } from "../../../../src/ops/backup/folder/BackupFolder.ts"
import { readRun, writeRun } from "../../../../src/ops/backup/folder/records.ts"
import { withinMs } from "../../../support/commandLine.ts"
import { backupFolderApi } from "../../../support/console/server/backupFolderApi.ts"
import { operatorBrowser } from "../../../support/console/server/operatorBrowser.ts"
import { testFolder } from "../../../support/testFolder.ts"
import { until } from "../../../support/until.ts"

layer(backupFolderApi(), { excludeTestServices: true })("backups in the operator's page", (it) => {
  it.effect(
    "start one, which is verified when it is done, one after the other; files that are no archives are not listed",
    () =>
      Effect.gen(function* () {
        const { ask, act, refused } = yield* operatorBrowser
        const page = Effect.map(ask("GET", "/backups"), ({ json, text }) => {
          assert.isArray(json.backups, text)
          return json as BackupPage
        })
        const before = yield* page
        assert.deepStrictEqual([before.backups, before.lastRun], [[], null])
        const { said } = yield* act("/backups")
        const [, name] = /^(atoll-[\dTZ-]+) is being written\.$/.exec(said)!
        const done = yield* until(page, ({ lastRun }) => lastRun!.state !== "writing")
        assert.strictEqual(done.lastRun!.state, "done", done.lastRun!.said!)
        assert.match(
          done.lastRun!.said!,
          new RegExp(`${name} has \\d+ rows, 0 volumes and 0 snapshots in 1 MiB, and was verified\\.$`)
        )
        assert.lengthOf(done.backups, 1)
        assert.isNotNull(done.backups[0]!.verifiedAt)

        // A copy was not verified, and what was changed since is not verified any more.
        const { folder } = done
        copyFileSync(join(folder, name!), join(folder, "by-hand"))
        writeFileSync(join(folder, "notes.txt"), "no archive")
        mkdirSync(join(folder, "older"))
        writeFileSync(join(folder, name!), readFileSync(join(folder, name!)).subarray(0, 100))
        const changed = yield* page
        assert.sameDeepMembers(
          changed.backups.map(({ name, verifiedAt }) => [name, verifiedAt]),
          [
            ["by-hand", null],
            [name, null]
          ]
        )
        const { events } = (yield* ask("GET", "/audit?action=startBackup")).json
        assert.deepInclude(events[0], { source: "operator", targetId: name, account: null, status: 201 })

        // While another process writes, none is started; one that was killed failed.
        const other = spawn("sleep", ["600"])
        const run = {
          ...readRun(folder)!,
          name: "other",
          process: identify(other.pid!)!,
          endedAt: null,
          isDone: false,
          said: null
        }
        yield* Effect.promise(() => writeRun(folder, run))
        yield* refused("/backups", undefined, "A backup is being written already: other.")
        assert.strictEqual((yield* page).lastRun!.state, "writing")
        other.kill("SIGKILL")
        const { lastRun } = yield* until(page, ({ lastRun }) => lastRun!.state !== "writing")
        assert.deepInclude(lastRun, {
          state: "failed",
          said: "It was killed before it was done: remove other.partial."
        })
      }),
    withinMs
  )
})

it.effect("a run that wrote its end, and ended, after its record was read is shown as it ended", () =>
  Effect.gen(function* () {
    const folder = yield* testFolder
    const run = {
      process: identify(process.pid)!,
      name: "archive",
      startedAt: 1,
      endedAt: null,
      isDone: false,
      progress: null,
      said: null
    }
    yield* Effect.promise(() => writeRun(folder, run))
    assert.deepStrictEqual(lastRunIn(folder), { run, isRunning: true })
    const ended = { ...run, endedAt: 2, isDone: true, said: "It is verified." }
    const endsNow = () => {
      writeFileSync(join(folder, ".run.json"), JSON.stringify(ended))
      return false
    }
    assert.deepStrictEqual(lastRunIn(folder, endsNow), { run: ended, isRunning: false })
  }).pipe(Effect.scoped)
)

layer(backupFolderApi({ ATOLL_DISK_RESERVE_BYTES: String(2 ** 52) }), { excludeTestServices: true })(
  "a backup in the operator's page",
  (it) => {
    it.effect(
      "gives up before it uses the reserve of the disk, and leaves nothing",
      () =>
        Effect.gen(function* () {
          const { ask, act } = yield* operatorBrowser
          yield* act("/backups")
          const { json } = yield* until(ask("GET", "/backups"), ({ json }) => json.lastRun.state !== "writing")
          assert.match(json.lastRun.said, /has less than the \d+ MiB that ATOLL_DISK_RESERVE_BYTES keeps free/)
          assert.deepStrictEqual([json.lastRun.state, json.backups], ["failed", []])
          assert.deepStrictEqual(
            readdirSync(json.folder).filter((name) => !name.startsWith(".")),
            []
          )
        }),
      withinMs
    )
  }
)

layer(backupFolderApi({ ATOLL_BACKUP_DIR: "/dev/null/backups" }), { excludeTestServices: true })(
  "a backup folder that cannot be made",
  (it) => {
    it.effect("is shown as empty, and refuses a backup with the reason", () =>
      Effect.gen(function* () {
        const { ask } = yield* operatorBrowser
        const { json: page } = yield* ask("GET", "/backups")
        assert.deepStrictEqual([page.backups, page.freeBytes, page.lastRun], [[], null, null])
        const { status, json } = yield* ask("POST", "/backups")
        assert.strictEqual(status, 400)
        assert.match(json.message, /^\/dev\/null\/backups cannot be used for backups: ENOTDIR/)
        assert.lengthOf((yield* ask("GET", "/audit?action=startBackup")).json.events, 0)
      })
    )
  }
)
