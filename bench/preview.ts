/**
 * A preview beside the same program reached directly: requests a second from 32 connections, one request at a time, a large download,
 * and a WebSocket echo of 1 GiB with the service's memory watched.
 */
import { freePort } from "../test/support/freePort.ts"
import { BenchService, quantile } from "./BenchService.ts"
import { type ColumnHeadline, headline, headlines } from "./Headline.ts"
import { insidePort, startHere, startInside } from "./InsideProgram.ts"
import { download, echo, loneAnswers, manyAnswers } from "./WebLoad.ts"

const rounds = Number(process.env["BENCH_ROUNDS"] ?? 3)
const echoBytes = Number(process.env["BENCH_ECHO_BYTES"] ?? 1024 ** 3)
const MiB = 1024 ** 2

type Column = "preview/s" | "direct/s" | "MiB/s" | "direct MiB/s" | "added ms alone"

const figures: ReadonlyArray<ColumnHeadline<Column>> = [
  {
    name: "preview, small answers, 32 connections",
    unit: "/s",
    better: "higher",
    column: "preview/s",
    other: { name: "the server itself", column: "direct/s" },
    aim: { ratio: 0.3 }
  },
  {
    name: "preview, added to a lone answer",
    unit: "ms",
    better: "lower",
    column: "added ms alone",
    aim: { value: 0.25 }
  },
  {
    name: "preview, bulk",
    unit: "MiB/s",
    better: "higher",
    column: "MiB/s",
    other: { name: "the server itself", column: "direct MiB/s" },
    aim: { ratio: 0.5 }
  }
]
const echoFigure = { name: "preview, WebSocket echo", unit: "MiB/s", better: "higher", aim: { ratio: 0.85 } } as const

await BenchService.use({ ATOLL_RUNTIME: "namespace" }, async (service) => {
  const sandboxId = await service.sandbox(await service.workspace(), { networkEnabled: true })
  await startInside(service, sandboxId)
  const { preview } = await service.call<{ preview: { hostname: string } }>(
    "POST",
    `/sandboxes/${sandboxId}/previews`,
    {
      port: insidePort
    }
  )
  const port = Number(new URL(service.base).port)
  const directPort = await freePort()
  const stop = await startHere(directPort)
  const host = preview.hostname

  const table = []
  for (let round = 0; round < rounds; round++) {
    const through = await manyAnswers(port, host)
    const direct = await manyAnswers(directPort, "localhost")
    const alone = await loneAnswers(port, host)
    const aloneDirect = await loneAnswers(directPort, "localhost")
    table.push({
      "preview/s": Math.round(through.perSecond),
      "direct/s": Math.round(direct.perSecond),
      ratio: Number((through.perSecond / direct.perSecond).toFixed(2)),
      "p50 ms at 32": through.p50,
      "p99 ms at 32": through.p99,
      "p50 ms alone": Number(quantile(alone, 0.5).toFixed(2)),
      "direct p50 ms": Number(quantile(aloneDirect, 0.5).toFixed(2)),
      "added ms alone": Number((quantile(alone, 0.5) - quantile(aloneDirect, 0.5)).toFixed(2)),
      "MiB/s": Math.round(await download(port, host)),
      "direct MiB/s": Math.round(await download(directPort, "localhost"))
    })
  }
  console.table(table)
  headlines(table, figures)

  const before = await service.residentBytes()
  let most = before
  const rate = await echo(port, host, echoBytes, async () => {
    most = Math.max(most, await service.residentBytes())
  })
  const directRate = await echo(directPort, "localhost", echoBytes, async () => {})
  console.table([
    {
      "WebSocket echo MiB/s": Math.round(rate),
      "direct MiB/s": Math.round(directRate),
      "service before MiB": Math.round(before / MiB),
      "most MiB": Math.round(most / MiB),
      "after MiB": Math.round((await service.residentBytes()) / MiB)
    }
  ])
  headline({ ...echoFigure, values: [rate], other: { name: "the server itself", values: [directRate] } })
  stop()
})
