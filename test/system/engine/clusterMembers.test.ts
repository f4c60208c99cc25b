/** A process that the others cannot reach owns no actors: it gets none, and releases those that it has. */

import { X509Certificate } from "node:crypto"
import { appendFileSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, layer } from "@effect/vitest"
import { Clock, Context, Effect, Exit, Layer, Logger, Metric, Scope } from "effect"
import { Sharding } from "effect/cluster"
import { SqlClient } from "effect/sql"
import { newSecret } from "../../../src/account/ApiKeySecret.ts"
import { ActorCluster } from "../../../src/engine/ActorCluster.ts"
import { HostEvidence } from "../../../src/engine/HostEvidence.ts"
import { allShards } from "../../../src/engine/shards.ts"
import { obstacleOf, WorkerList, Workers } from "../../../src/platform/worker/Worker.ts"
import { authority } from "../../support/authority.ts"
import { freePort } from "../../support/freePort.ts"
import { ShiftedClock } from "../../support/ShiftedClock.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { testSettings } from "../../support/TestSettings.ts"
import { testFolder } from "../../support/testFolder.ts"
import { until } from "../../support/until.ts"

const leaseMs = 2000

/** One process of a cluster, without its actors. */
const member = Effect.fnUntraced(function* (
  environment: Readonly<Record<string, string>> = {},
  evidence = { reachesHosts: true },
  clock = new ShiftedClock()
) {
  const scope = yield* Effect.acquireRelease(Scope.make(), (it) => Scope.close(it, Exit.void))
  const port = yield* Effect.promise(freePort)
  const workers = new WorkerList()
  const lines: Array<string> = []
  const remember = Logger.make(({ logLevel, message }) => {
    if (logLevel !== "Debug") lines.push(`${logLevel} ${[message].flat().join(" ")}`)
  })
  const settings = testSettings({
    ATOLL_CLUSTER_HOST: "127.0.0.1",
    ATOLL_CLUSTER_PORT: String(port),
    ATOLL_CLUSTER_LEASE_MS: String(leaseMs),
    ...environment
  })
  const built = yield* Layer.buildWithScope(
    Layer.fresh(ActorCluster.layer).pipe(
      Layer.provide([
        settings,
        Layer.succeed(Workers, workers),
        Layer.succeed(HostEvidence, evidence),
        Logger.layer([remember])
      ])
    ),
    scope
  ).pipe(Effect.provideService(Clock.Clock, clock))
  const sharding = Context.get(built, Sharding.Sharding)
  return {
    address: `127.0.0.1:${port}`,
    owned: () => allShards.filter((shard) => sharding.hasShardId(shard)).length,
    obstacle: () => obstacleOf(workers.byName),
    about: (words: string) => lines.filter((line) => line.includes(words)),
    leave: Scope.close(scope, Exit.void)
  }
})

type Member = Effect.Success<ReturnType<typeof member>>

/** All shards have an owner, and the owners are these, each with some. */
const untilOwnedBy = (members: ReadonlyArray<Member>, others: ReadonlyArray<Member> = []) =>
  until(
    Effect.sync(() => [members.map((it) => it.owned()), others.map((it) => it.owned())] as const),
    ([owners, rest]) =>
      owners.every((count) => count > 0) &&
      owners.reduce((sum, count) => sum + count, 0) === allShards.length &&
      rest.every((count) => count === 0)
  )

/**
 * The member that joined first, once it has all shards and the others have none. A process whose lease lapsed, as on a slow machine, joins again and
 * is the youngest.
 */
const untilOldestOwnsAll = (members: ReadonlyArray<Member>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [oldest] = yield* sql<{ readonly address: string }>`
      select address from cluster_processes where not leaving and lease_until > clock_timestamp() order by machine_id limit 1`
    const isOwner = (it: Member) => it.owned() === allShards.length && it.address === oldest?.address
    const owner = members.find(isOwner)
    const others = members.filter((it) => it !== owner)
    return owner !== undefined && others.every((it) => it.owned() === 0) ? { owner, others } : null
  }).pipe(
    (look) => until(look, (found) => found !== null),
    Effect.map((found) => found!)
  )

const secretFile = Effect.fnUntraced(function* (name: string, secret: string) {
  const path = join(yield* testFolder, name)
  writeFileSync(path, `${secret}\n`, { mode: 0o600 })
  return path
})

const fresh = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`delete from cluster_processes`)

const outside = "owns no actors"
const again = "owns actors again"
const waits = /^The worker "cluster reach" has waited for the other processes of the cluster to reach this one since /

layer(TestDatabase.layer, { excludeTestServices: true })("a process of a cluster", (it) => {
  it.effect(
    "owns all shards while it is alone, and shares them with others that start at the same time",
    () =>
      Effect.gen(function* () {
        yield* fresh
        const one = yield* member()
        yield* untilOwnedBy([one])
        yield* until(Effect.sync(one.obstacle), (obstacle) => obstacle === null)
        const others = yield* Effect.forEach([1, 2], () => member(), { concurrency: "unbounded" })
        yield* untilOwnedBy([one, ...others])
        for (const it of [one, ...others]) {
          yield* until(Effect.sync(it.obstacle), (obstacle) => obstacle === null)
          assert.deepStrictEqual(it.about(outside), [])
        }
        yield* one.leave
        yield* untilOwnedBy(others)
        for (const it of others) assert.deepStrictEqual(it.about(outside), [])
      }).pipe(Effect.scoped),
    120_000
  )

  it.effect(
    "gets no shards and is not ready with another secret, and both sides report it once",
    () =>
      Effect.gen(function* () {
        yield* fresh
        const ours = yield* secretFile("ours", newSecret())
        const theirs = yield* secretFile("theirs", newSecret())
        const [one, two] = yield* Effect.forEach([1, 2], () => member({ ATOLL_FLEET_SECRET_FILE: ours }))
        yield* untilOwnedBy([one!, two!])
        const foreign = yield* member({ ATOLL_FLEET_SECRET_FILE: theirs })
        const seen: Array<number> = []
        yield* until(
          Effect.sync(() => {
            seen.push(foreign.owned())
            return [one!, two!, foreign].map((it) => it.about(outside).length)
          }),
          (told) => told.every((count) => count > 0)
        )
        assert.strictEqual(Math.max(...seen), 0)
        yield* untilOwnedBy([one!, two!], [foreign])
        assert.match(foreign.obstacle() ?? "", waits)
        assert.deepStrictEqual([one!.obstacle(), two!.obstacle()], [null, null])
        yield* Effect.sleep(2 * leaseMs)
        for (const it of [one!, two!]) {
          const [line, ...more] = it.about(outside)
          assert.deepStrictEqual(more, [])
          assert.include(line, `Warn The process ${foreign.address} owns no actors: `)
          assert.include(line, "nothing is there which has this one's secret (ATOLL_FLEET_SECRET_FILE)")
        }
        const [line, ...more] = foreign.about(outside)
        assert.deepStrictEqual(more, [])
        assert.match(
          line ?? "",
          /^Warn This process owns no actors: .* and it do not reach each other\. Check ATOLL_FLEET_SECRET_FILE/
        )
        const count = Metric.value(
          Metric.gauge("atoll_cluster_processes_outside", {
            description:
              "Living processes of the cluster that own no actors, because they and the others do not reach each other."
          })
        )
        assert.strictEqual(Number((yield* count).value), 1)
        // It has the right secret now.
        writeFileSync(theirs, readFileSync(ours))
        yield* untilOwnedBy([one!, two!, foreign])
        for (const it of [one!, two!, foreign]) {
          yield* until(
            Effect.sync(() => it.about(again).length),
            (count) => count === 1
          )
        }
        yield* until(Effect.sync(foreign.obstacle), (obstacle) => obstacle === null)
      }).pipe(Effect.scoped),
    120_000
  )

  it.effect(
    "releases its shards when the others cannot reach it, and of two that are left one has all",
    () =>
      Effect.gen(function* () {
        yield* fresh
        const secret = newSecret()
        const files = yield* Effect.forEach(["one", "two", "three"], (name) => secretFile(name, secret))
        const [one, two, three] = (yield* Effect.forEach(files, (file) =>
          member({ ATOLL_FLEET_SECRET_FILE: file })
        )) as [Member, Member, Member]
        yield* untilOwnedBy([one, two, three])
        writeFileSync(files[1]!, newSecret())
        yield* untilOwnedBy([one, three], [two])
        writeFileSync(files[2]!, newSecret())
        // Of processes that do not reach each other the oldest has all.
        const first = yield* untilOldestOwnsAll([one, two, three])
        yield* until(Effect.sync(first.owner.obstacle), (obstacle) => obstacle === null)
        yield* first.owner.leave
        const { owner, others } = yield* untilOldestOwnsAll(first.others)
        yield* until(Effect.sync(owner.obstacle), (obstacle) => obstacle === null)
        for (const it of others) yield* until(Effect.sync(it.obstacle), (obstacle) => waits.test(obstacle ?? ""))
      }).pipe(Effect.scoped),
    120_000
  )

  it.effect(
    "releases its shards when its certificate is revoked while it runs",
    () =>
      Effect.gen(function* () {
        yield* fresh
        const folder = yield* testFolder
        const { caFile, sign } = authority(folder, "cluster")
        const revoked = join(folder, "revoked")
        writeFileSync(revoked, "")
        const certified = Effect.fnUntraced(function* (name: string) {
          const { certFile, keyFile } = sign(name, "DNS:atoll-service")
          const it = yield* member({
            ATOLL_ROLE: "service",
            ATOLL_FLEET_CERT_FILE: certFile,
            ATOLL_FLEET_KEY_FILE: keyFile,
            ATOLL_FLEET_CA_FILE: caFile,
            ATOLL_FLEET_REVOKED_FILE: revoked
          })
          return { ...it, fingerprint: new X509Certificate(readFileSync(certFile)).fingerprint256 }
        })
        const [one, two, three] = yield* Effect.forEach(["one", "two", "three"], certified)
        yield* untilOwnedBy([one!, two!, three!])
        appendFileSync(revoked, `${three!.fingerprint}\n`)
        yield* untilOwnedBy([one!, two!], [three!])
        yield* until(
          Effect.sync(() => [one!, two!, three!].map((it) => it.about(outside).length)),
          (told) => told.every((count) => count === 1)
        )
        assert.match(three!.obstacle() ?? "", waits)
      }).pipe(Effect.scoped),
    120_000
  )

  for (const [words, shiftMs] of [
    ["ahead of", 420_000],
    ["behind", -420_000]
  ] as const) {
    it.effect(
      `whose clock is minutes ${words} the database's releases its shards until it is set, and both sides report it once`,
      () =>
        Effect.gen(function* () {
          yield* fresh
          const clock = new ShiftedClock()
          // The older one, which would win over one that it does not reach.
          const wrong = yield* member({}, { reachesHosts: true }, clock)
          const right = yield* member()
          yield* untilOwnedBy([wrong, right])
          clock.shiftMs = shiftMs
          yield* untilOwnedBy([right], [wrong])
          yield* until(
            Effect.sync(() => [wrong, right].map((it) => it.about(outside).length)),
            (told) => told.every((count) => count === 1)
          )
          assert.match(
            wrong.about(outside)[0]!,
            new RegExp(
              `^Warn This process owns no actors: the clock of this host is 4(19|20) s ${words} the database's\\.`
            )
          )
          assert.include(
            right.about(outside)[0]!,
            `The process ${wrong.address} owns no actors: it is reached from here`
          )
          assert.match(wrong.obstacle() ?? "", /has waited for its host's clock and the database's to agree since /)
          assert.isNull(right.obstacle())
          clock.shiftMs = 0
          yield* untilOwnedBy([wrong, right])
          yield* until(Effect.sync(wrong.obstacle), (obstacle) => obstacle === null)
        }).pipe(Effect.scoped),
      120_000
    )
  }

  it.effect(
    "that reaches hosts wins over an older one that it does not reach, and that reaches none",
    () =>
      Effect.gen(function* () {
        yield* fresh
        const ours = yield* secretFile("hosts", newSecret())
        const theirs = yield* secretFile("none", newSecret())
        const evidence = { reachesHosts: true }
        const older = yield* member({ ATOLL_FLEET_SECRET_FILE: theirs }, evidence)
        yield* untilOwnedBy([older])
        const younger = yield* member({ ATOLL_FLEET_SECRET_FILE: ours })
        yield* until(
          Effect.sync(() => younger.about(outside).length),
          (told) => told === 1
        )
        yield* untilOwnedBy([older], [younger])
        evidence.reachesHosts = false
        yield* untilOwnedBy([younger], [older])
        yield* until(Effect.sync(younger.obstacle), (obstacle) => obstacle === null)
      }).pipe(Effect.scoped),
    120_000
  )
})
