/**
 * 1,000 open event streams over HTTP, each of another Sandbox, while 2,000 transitions a second are committed: the
 * streams' cost for the service, and the delay between a commit and its client. This process commits, as another
 * process of the same database would: the service receives it by NOTIFY, which is the longer path, and its CPU is that
 * of reading and sending alone.
 */
import { get, type IncomingMessage } from "node:http"
import { Effect, Layer } from "effect"
import { Settings } from "../src/Config.ts"
import { Events } from "../src/observe/events/Events.ts"
import { Actors } from "../src/store/Actors.ts"
import { Journal } from "../src/store/Journal.ts"
import type { StoredSnapshot } from "../src/store/JournalRecord.ts"
import { Output } from "../src/store/Output.ts"
import { freePort } from "../test/support/freePort.ts"
import { databaseOf } from "./BenchDatabase.ts"
import { BenchService, quantile } from "./BenchService.ts"

const count = Number(process.env["BENCH_STREAMS"] ?? 1000)
const perSecond = 2000
const seconds = Number(process.env["BENCH_SECONDS"] ?? 10)
const drainMs = 2000
const mebibyte = 2 ** 20

const settle = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Calls back with the actor and the revision of each transition, once its event has arrived whole. */
const follow = (url: string, headers: Record<string, string>, told: (actorId: string, revision: number) => void) =>
  new Promise<IncomingMessage>((resolve, reject) => {
    const request = get(url, { headers, agent: false }, (answer) => {
      if (answer.statusCode !== 200) return reject(new Error(`${url}: ${answer.statusCode}`))
      let rest = ""
      answer.setEncoding("utf8").on("data", (piece: string) => {
        const events = (rest + piece).split("\n\n")
        rest = events.pop()!
        for (const event of events) {
          const found = /"actorId":"(\w+)","sandboxId":"\w+","revision":(\d+)/.exec(event)
          if (found !== null) told(found[1]!, Number(found[2]))
        }
      })
      answer.on("error", () => {})
      resolve(answer)
    })
    request.on("error", reject)
  })

/** A running Operation for which the service has no work. */
const runningSnapshot = (operationId: string, accountId: string, sandboxId: string): StoredSnapshot => ({
  value: "running",
  context: {
    operationId,
    accountId,
    sandboxId,
    generation: 1,
    timeoutMs: null,
    createdAt: 1,
    startedAt: 1,
    finishedAt: null,
    exitCode: null,
    signal: null,
    reason: null,
    processTree: "running"
  }
})

/** With it the processes of a database notify each other of their commits. */
const clusterPort = String(await freePort())
process.env["ATOLL_CLUSTER_PORT"] = clusterPort

const environment = {
  ATOLL_CLUSTER_PORT: clusterPort,
  ATOLL_RUNTIME: "simulated",
  ATOLL_SANDBOXES_PER_ACCOUNT: String(count),
  ATOLL_WORKSPACE_STORAGE_BYTES: String(100 * 2 ** 40),
  ATOLL_STREAMS_PER_ACCOUNT: String(count)
}

await BenchService.use(environment, async (service) => {
  const { account } = await service.call<{ account: { id: string } }>("GET", "/me")
  const workspace = await service.workspace()
  const sandboxIds: Array<string> = []
  while (sandboxIds.length < count) {
    const several = Math.min(20, count - sandboxIds.length)
    sandboxIds.push(...(await Promise.all(Array.from({ length: several }, () => service.sandbox(workspace)))))
  }
  const idOf = (index: number) => `op_${String(index).padStart(32, "0")}`
  const snapshots = sandboxIds.map((sandboxId, index) => runningSnapshot(idOf(index), account.id, sandboxId))

  const program = Effect.gen(function* () {
    const journal = yield* Journal
    // Its events notify the others of this process's commits.
    yield* Events
    const insert = (sandboxId: string, index: number) =>
      journal.insert({
        row: {
          id: idOf(index),
          kind: "operation",
          accountId: account.id,
          sandboxId,
          machineVersion: 1,
          revision: 1,
          snapshot: snapshots[index]!,
          pending: [],
          deadlines: {},
          changedAt: 1
        },
        input: {},
        payload: null,
        dueAt: null,
        createdAt: 1,
        transition: {
          at: 1,
          event: { type: "CREATED" },
          from: null,
          to: "running",
          commands: [],
          cause: "client",
          requestId: null
        },
        idempotency: null
      })
    yield* Effect.forEach(sandboxIds, insert, { concurrency: 64, discard: true })
    yield* Effect.promise(() => settle(3000))

    const committedAt = new Map<string, number>()
    const latencies: Array<number> = []
    const seen = new Set<string>()
    let doubles = 0
    const told = (actorId: string, revision: number) => {
      const name = `${actorId} ${revision}`
      if (seen.has(name)) doubles++
      seen.add(name)
      const at = committedAt.get(name)
      if (at !== undefined) latencies.push(performance.now() - at)
    }
    const before = yield* Effect.promise(() => service.residentBytes())
    const answers = yield* Effect.forEach(
      sandboxIds,
      (id) => Effect.promise(() => follow(`${service.base}/sandboxes/${id}/events`, service.headers, told)),
      { concurrency: 32 }
    )
    yield* Effect.promise(() => settle(3000))
    const open = yield* Effect.promise(() => service.residentBytes())
    const idleSince = yield* Effect.promise(() => service.cpuSeconds())
    yield* Effect.promise(() => settle(5000))
    const idle = ((yield* Effect.promise(() => service.cpuSeconds())) - idleSince) / 5

    const revisions = sandboxIds.map(() => 1)
    const commit = (index: number) => {
      const revision = ++revisions[index]!
      const snapshot = snapshots[index]!
      journal.commit(
        {
          actorId: idOf(index),
          kind: "operation",
          accountId: account.id,
          revision,
          snapshot,
          replaces: snapshot,
          pending: null,
          deadlines: null,
          dueAt: null,
          transition: {
            at: revision,
            event: { type: "STARTED" },
            from: "running",
            to: "running",
            commands: [],
            cause: "client",
            requestId: null
          }
        },
        (outcome) => {
          if (outcome !== "committed") throw new Error(`${idOf(index)} ${revision}: ${outcome}`)
          committedAt.set(`${idOf(index)} ${revision}`, performance.now())
        }
      )
    }
    const cpuSince = yield* Effect.promise(() => service.cpuSeconds())
    const startedAt = performance.now()
    let sent = 0
    while (performance.now() - startedAt < seconds * 1000) {
      const due = Math.floor(((performance.now() - startedAt) / 1000) * perSecond)
      for (; sent < due; sent++) commit((sent * 7919) % count)
      yield* Effect.promise(() => settle(2))
    }
    const took = (performance.now() - startedAt) / 1000
    const cpu = ((yield* Effect.promise(() => service.cpuSeconds())) - cpuSince) / took
    yield* Effect.promise(() => settle(drainMs))
    const loaded = yield* Effect.promise(() => service.residentBytes())
    for (const answer of answers) answer.destroy()

    console.table([
      {
        streams: count,
        "transitions/s": Math.round(sent / took),
        "p50 ms": Number(quantile(latencies, 0.5).toFixed(1)),
        "p99 ms": Number(quantile(latencies, 0.99).toFixed(1)),
        "CPU idle": Number(idle.toFixed(2)),
        "CPU loaded": Number(cpu.toFixed(2)),
        "MiB before": Math.round(before / mebibyte),
        "MiB open": Math.round(open / mebibyte),
        "MiB after load": Math.round(loaded / mebibyte)
      }
    ])
    console.log("CPU in cores, of the service's process; wanted of p50: at most 15 ms after the commit")
    const missing = sent - seen.size
    if (missing !== 0 || doubles !== 0) throw new Error(`${missing} transitions did not come, ${doubles} came again`)
  })
  const layers = Events.layer().pipe(
    Layer.provideMerge(Layer.mergeAll(Journal.layer, Actors.layer, Output.layer)),
    Layer.provideMerge(databaseOf(service.databaseSocketFolder)),
    Layer.provideMerge(Settings.layer)
  )
  await Effect.runPromise(program.pipe(Effect.provide(layers), Effect.scoped))
})
