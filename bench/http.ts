/**
 * GET one Sandbox, authenticated, beside bare `node:http` serving the same bytes: requests a second from 32
 * connections, alternately, once both run compiled code.
 */
import autocannon from "autocannon"
import { BenchService, quantile } from "./BenchService.ts"
import { bareServer } from "./ConstantServers.ts"
import { headline } from "./Headline.ts"

const seconds = Number(process.env["BENCH_SECONDS"] ?? 4)
const rounds = Number(process.env["BENCH_ROUNDS"] ?? 5)
const warmUpRounds = 3

await BenchService.use({ ATOLL_RUNTIME: "simulated" }, async (service) => {
  const id = await service.sandbox(await service.workspace())
  const url = `${service.base}/sandboxes/${id}`
  const body = await (await fetch(url, { headers: service.headers })).text()
  const bare = await bareServer(body)

  const run = async (target: string, headers: Record<string, string>) => {
    const result = await autocannon({ url: target, headers, connections: 32, duration: seconds })
    if (result.non2xx > 0 || result.errors > 0)
      throw new Error(`${target}: ${result.non2xx} refused, ${result.errors} failed`)
    const { requests, latency } = result
    return { perSecond: requests.average, total: requests.total, p50: latency.p50, p99: latency.p99 }
  }

  for (let round = 0; round < warmUpRounds; round++) {
    await run(url, service.headers)
    await run(bare.url, {})
  }
  const table = []
  for (let round = 0; round < rounds; round++) {
    const usedBefore = await service.cpuSeconds()
    const ours = await run(url, service.headers)
    const usedSeconds = (await service.cpuSeconds()) - usedBefore
    const theirs = await run(bare.url, {})
    table.push({
      "GET Sandbox/s": Math.round(ours.perSecond),
      "bare node:http/s": Math.round(theirs.perSecond),
      ratio: Number((ours.perSecond / theirs.perSecond).toFixed(2)),
      "p50 ms": ours.p50,
      "p99 ms": ours.p99,
      "CPU µs a GET": Math.round((usedSeconds * 1e6) / ours.total)
    })
  }
  console.table(table)
  console.log(
    `ratio, p50: ${quantile(
      table.map(({ ratio }) => ratio),
      0.5
    )}`
  )
  headline({
    name: "GET one Sandbox, 32 connections",
    unit: "/s",
    better: "higher",
    values: table.map((round) => round["GET Sandbox/s"]),
    other: { name: "bare node:http", values: table.map((round) => round["bare node:http/s"]) },
    aim: { ratio: 0.45 }
  })
  bare.stop()
})
