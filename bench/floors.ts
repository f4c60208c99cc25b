/**
 * What Effect's HTTP server reaches with a constant answer, beside bare `node:http` with the same bytes: the floor of a GET of one Sandbox. Requests a
 * second from 32 connections, alternately, once all run compiled code.
 */
import autocannon from "autocannon"
import { bareServer, effectServer } from "./ConstantServers.ts"
import { type ColumnHeadline, headlines } from "./Headline.ts"

const seconds = Number(process.env["BENCH_SECONDS"] ?? 4)
const rounds = Number(process.env["BENCH_ROUNDS"] ?? 3)
const warmUpRounds = 2

type Column = "bare node:http/s" | "a route/s" | "an endpoint/s" | "with its checks/s"

const figure = (name: string, column: Column): ColumnHeadline<Column> => ({
  name,
  unit: "/s",
  better: "higher",
  column,
  other: { name: "bare node:http", column: "bare node:http/s" }
})

const figures = [
  figure("Effect's HTTP server, a constant by a route, 32 connections", "a route/s"),
  figure("Effect's HTTP server, a constant by HttpApi", "an endpoint/s"),
  figure("Effect's HTTP server, the same with an id and the SHA-256 of a key", "with its checks/s")
]

/** As long as a Sandbox. */
const body = `${JSON.stringify({ sandbox: { id: "sbx_", filler: "x".repeat(500) } })}\n`

const run = async (url: string): Promise<number> => {
  const headers = { authorization: "Bearer key" }
  const result = await autocannon({ url, headers, connections: 32, duration: seconds })
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${result.non2xx} refused, ${result.errors} failed`)
  return Math.round(result.requests.average)
}

const servers = {
  "bare node:http/s": await bareServer(body),
  "a route/s": await effectServer("router", body),
  "an endpoint/s": await effectServer("api", body),
  "with its checks/s": await effectServer("checked", body)
}
try {
  const table = []
  for (let round = -warmUpRounds; round < rounds; round++) {
    const row = { "bare node:http/s": 0, "a route/s": 0, "an endpoint/s": 0, "with its checks/s": 0 }
    for (const column of Object.keys(row) as Array<Column>) row[column] = await run(servers[column].url)
    if (round >= 0) table.push(row)
  }
  console.table(table)
  headlines(table, figures)
} finally {
  for (const server of Object.values(servers)) server.stop()
}
