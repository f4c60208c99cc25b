/**
 * Back after `kill -9`, over a database with 1,000,000 stopped Sandboxes (BENCH_SANDBOXES) beside 10,000 whose deadlines are near, so that the
 * service has timers for them: from the start of its process to its first answer, and until each of the 10,000 has committed a change that a
 * client asked for, over 64 connections; and what its process has resident then. The database keeps running, as it does in an ordinary crash.
 */
import { Agent, request } from "node:http"
import { query } from "./BenchDatabase.ts"
import { BenchService, quantile } from "./BenchService.ts"
import { type ColumnHeadline, headlines } from "./Headline.ts"
import { copyIdSql, copySandboxes, removeCopies } from "./SandboxCopies.ts"

const atRest = Number(process.env["BENCH_SANDBOXES"] ?? 1_000_000)
const live = 10_000
const connections = 64
const rounds = 5
const minute = 60_000
/** Within the horizon of the service's timers, and after the end of the benchmark. */
const nearMs = 20 * minute
const farMs = 10 * 24 * 60 * minute

type Column = "first answer ms" | "all served ms" | "resident MB"

const name = `after kill -9, ${atRest.toLocaleString("en-US")} at rest`
const figures: ReadonlyArray<ColumnHeadline<Column>> = [
  { name: `${name}: first answer`, unit: "ms", better: "lower", column: "first answer ms", aim: { value: 1000 } },
  {
    name: `${name}: ${live.toLocaleString("en-US")} actors served`,
    unit: "ms",
    better: "lower",
    column: "all served ms",
    aim: { value: 3000 }
  },
  { name: `${name}: memory of the service`, unit: "MB", better: "lower", column: "resident MB", aim: { value: 300 } }
]

/** A change of a Sandbox's name; resolves once it is committed and answered. */
const rename = (service: BenchService, agent: Agent, id: string, to: string) =>
  new Promise<void>((resolve, reject) => {
    const body = JSON.stringify({ name: to })
    const headers = { ...service.headers, "content-type": "application/json", "content-length": body.length }
    request(`${service.base}/sandboxes/${id}`, { method: "PATCH", agent, headers }, (answer) => {
      answer.resume()
      answer.once("end", () => (answer.statusCode === 200 ? resolve() : reject(new Error(String(answer.statusCode)))))
    })
      .once("error", reject)
      .end(body)
  })

/** Milliseconds of each. */
const renameAll = async (service: BenchService, ids: ReadonlyArray<string>, to: string) => {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const left = [...ids]
  const took: Array<number> = []
  const client = async () => {
    for (let id = left.pop(); id !== undefined; id = left.pop()) {
      const before = performance.now()
      await rename(service, agent, id, to)
      took.push(performance.now() - before)
    }
  }
  await Promise.all(Array.from({ length: connections }, client))
  agent.destroy()
  return took
}

await BenchService.use(
  {
    ATOLL_RUNTIME: "simulated",
    ATOLL_SANDBOXES_PER_ACCOUNT: String(2 * (atRest + live)),
    ATOLL_WORKSPACE_STORAGE_BYTES: String(2 ** 52)
  },
  async (service) => {
    const model = await service.sandbox(await service.workspace())
    await service.call("POST", `/sandboxes/${model}/stop`)
    while (
      (await service.call<{ sandbox: { status: string } }>("GET", `/sandboxes/${model}`)).sandbox.status !== "stopped"
    );
    const ask = <A extends object>(text: string) => query<A>(service, text)
    await copySandboxes(ask, { model, tag: "rest", count: atRest, dueAt: Date.now() + farMs })
    await copySandboxes(ask, { model, tag: "live", count: live, dueAt: Date.now() + nearMs })
    await ask("vacuum analyze")
    const rows = await ask<{ id: string }>(
      `select ${copyIdSql("live", "i")} as id from generate_series(1, ${live}) as i`
    )
    const ids = rows.map(({ id }) => id)

    const table = []
    for (let round = 0; round < rounds; round++) {
      await service.kill()
      const began = performance.now()
      const firstAnswer = await service.startAgain()
      const took = await renameAll(service, ids, `round ${round}`)
      table.push({
        "first answer ms": Math.round(firstAnswer),
        "all served ms": Math.round(performance.now() - began),
        "p50 ms of a change": Number(quantile(took, 0.5).toFixed(1)),
        "p99 ms": Number(quantile(took, 0.99).toFixed(1)),
        "resident MB": Math.round((await service.residentBytes()) / 1e6)
      })
    }
    console.table(table)
    headlines(table, figures)
    for (const [tag, count] of [
      ["rest", atRest],
      ["live", live]
    ] as const)
      await removeCopies(ask, tag, count)
  }
)
