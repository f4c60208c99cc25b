/** The findings of `atoll doctor`. */
import { createServer } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { NO_CGROUPS } from "../../../src/host/linux/cgroups.ts"
import type { Finding } from "../../../src/ops/doctor/Finding.ts"
import { cgroupFinding, snapshotFinding } from "../../../src/ops/doctor/sandboxFindings.ts"
import {
  clockFinding,
  filesFinding,
  localeFinding,
  memoryFinding,
  nodeFinding
} from "../../../src/ops/doctor/systemFindings.ts"
import { atollWith, withinMs } from "../../support/commandLine.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { testFolder } from "../../support/testFolder.ts"

const isWhole = ({ name, state, found, mend }: Finding) => {
  assert.isNotEmpty(name)
  assert.isNotEmpty(found)
  assert.strictEqual(mend === null, state === "ok", `${name}: ${found}`)
}

describe("atoll doctor", () => {
  it("names each fault with its remedy", () => {
    const states = (...findings: ReadonlyArray<Finding>) => {
      findings.forEach(isWhole)
      return findings.map(({ state }) => state)
    }
    assert.deepStrictEqual(states(nodeFinding("24.21.0"), nodeFinding("22.18.0"), nodeFinding("22.17.9")), [
      "ok",
      "ok",
      "missing"
    ])
    assert.deepStrictEqual(states(clockFinding(2000, 1000), clockFinding(0, 1000)), ["ok", "missing"])
    assert.deepStrictEqual(
      states(localeFinding(undefined), localeFinding("C.UTF-8"), localeFinding("de_DE.utf8"), localeFinding("de_DE")),
      ["ok", "ok", "ok", "limited"]
    )
    assert.deepStrictEqual(
      states(
        filesFinding("Max open files            1024                 1048576              files"),
        filesFinding("Max open files            65536                1048576              files")
      ),
      ["limited", "ok"]
    )
    assert.deepStrictEqual(states(memoryFinding(4e9, 1e9), memoryFinding(1e9, 1e9)), ["ok", "limited"])
    const enforced = { ...NO_CGROUPS, v2: "/sys/fs/cgroup/atoll", enforced: { memory: true, pids: true, cpu: true } }
    const partly = { ...enforced, enforced: { memory: true, pids: false, cpu: true } }
    assert.deepStrictEqual(
      states(cgroupFinding(enforced, true), cgroupFinding(partly, true), cgroupFinding(enforced, false)),
      ["ok", "limited", "limited"]
    )
    assert.include(cgroupFinding(partly, true).found, "Limits of processes are not enforced")
    const snapshots = [true, false, null].map((reflinks) => snapshotFinding(true, "/data", reflinks))
    assert.deepStrictEqual(states(...snapshots, snapshotFinding(false, "/data", null)), [
      "ok",
      "ok",
      "limited",
      "limited"
    ])
    assert.include(snapshots[1]!.found, "writers wait")
  })

  it.live(
    "reports what works here as text and as one JSON document, and changes nothing",
    () =>
      Effect.gen(function* () {
        const { url } = yield* TestDatabase
        const folder = yield* testFolder
        const taken = yield* Effect.acquireRelease(
          Effect.promise(
            () =>
              new Promise<ReturnType<typeof createServer>>((resolve) => {
                const server = createServer((socket) => socket.end()).listen(0, "127.0.0.1", () => resolve(server))
              })
          ),
          (server) => Effect.sync(() => server.close())
        )
        const { port } = taken.address() as { port: number }
        const environment = {
          ATOLL_DATA_DIR: `${folder}/data`,
          ATOLL_RUNTIME: "simulated",
          ATOLL_PORT: String(port),
          DATABASE_URL: url
        }
        const { code, stdout, stderr } = yield* atollWith(environment, "doctor", "--json")
        assert.deepStrictEqual([code, stderr], [0, ""], stdout)
        const { works, findings } = JSON.parse(stdout) as { works: boolean; findings: ReadonlyArray<Finding> }
        assert.isTrue(works)
        findings.forEach(isWhole)
        const named = new Map(findings.map((finding) => [finding.name, finding]))
        for (const name of ["node", "user", "clock", "locale", "memory", "disk", "namespaces", "machines", "cgroups"])
          assert.isTrue(named.has(name), name)
        assert.strictEqual(named.get("database")?.state, "ok")
        assert.include(named.get(`port ${port}`)?.found, "something listens on it")

        const lost = yield* atollWith(
          { ...environment, DATABASE_URL: "postgres://someone:hunter2@127.0.0.1:1/shop" },
          "doctor"
        )
        assert.strictEqual(lost.code, 1)
        assert.match(
          lost.stdout,
          /^MISSING {2}database {4}The database does not serve\.\n\s+Mend: The database, DATABASE_URL/m
        )
        assert.include(lost.stdout, "Atoll does not work here with these settings.")
        assert.notInclude(lost.stdout + lost.stderr, "hunter2")
      }).pipe(Effect.scoped, Effect.provide(TestDatabase.bare)),
    withinMs
  )

  it.live(
    "names the setting that does not parse",
    () =>
      Effect.gen(function* () {
        const { code, stderr } = yield* atollWith({ ATOLL_VOLUME_BYTES: "4GB" }, "doctor")
        assert.strictEqual(code, 1)
        assert.include(stderr, "atoll: ATOLL_VOLUME_BYTES must be a whole number from")
      }),
    withinMs
  )
})
