/**
 * A preview beside the same program reached directly: requests a second from 32 connections, one request at a time, a large download,
 * and a WebSocket echo of 1 GiB with the service's memory watched.
 */
import { once } from "node:events"
import { type IncomingMessage, request } from "node:http"
import autocannon from "autocannon"
import { WebSocket } from "ws"
import { BenchService, quantile, timed } from "./BenchService.ts"
import { type ColumnHeadline, headline, headlines } from "./Headline.ts"
import { insidePort, startHere, startInside } from "./InsideProgram.ts"

const seconds = Number(process.env["BENCH_SECONDS"] ?? 4)
const rounds = Number(process.env["BENCH_ROUNDS"] ?? 3)
const downloadBytes = 512 * 1024 ** 2
const echoBytes = Number(process.env["BENCH_ECHO_BYTES"] ?? 1024 ** 3)
const messageBytes = 256 * 1024
const inFlightMaxBytes = 4 * 1024 ** 2
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

const download = async (port: number, host: string): Promise<number> => {
  const began = performance.now()
  const sent = request({ host: "127.0.0.1", port, path: `/bytes?n=${downloadBytes}`, headers: { host } }).end()
  const [answer] = (await once(sent, "response")) as [IncomingMessage]
  let size = 0
  for await (const chunk of answer) size += (chunk as Buffer).length
  if (size !== downloadBytes) throw new Error(`${size} bytes came of ${downloadBytes}`)
  return downloadBytes / MiB / ((performance.now() - began) / 1000)
}

/** MiB/s of one direction; `watch` is called now and then. */
const echo = async (port: number, host: string, bytes: number, watch: () => Promise<void>): Promise<number> => {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/`, { headers: { host }, perMessageDeflate: false })
  await once(socket, "open")
  const message = Buffer.alloc(messageBytes, 1)
  const began = performance.now()
  let sent = 0
  let received = 0
  let looked = 0
  const done = new Promise<void>((resolve, reject) => {
    const pump = () => {
      while (sent < bytes && sent - received < inFlightMaxBytes) {
        socket.send(message)
        sent += message.length
      }
    }
    socket.on("message", (data: Buffer) => {
      received += data.length
      if (received >= bytes) return resolve()
      if (received - looked >= 64 * MiB) {
        looked = received
        watch().catch(reject)
      }
      pump()
    })
    socket.on("close", () => reject(new Error("The WebSocket was closed")))
    pump()
  })
  await done
  const took = performance.now() - began
  socket.removeAllListeners("close")
  socket.terminate()
  return bytes / MiB / (took / 1000)
}

await BenchService.use({ ATOLL_RUNTIME: "namespace" }, async (service) => {
  const sandboxId = await service.sandbox(await service.workspace(), true)
  await startInside(service, sandboxId)
  const { preview } = await service.call<{ preview: { hostname: string } }>(
    "POST",
    `/sandboxes/${sandboxId}/previews`,
    {
      port: insidePort
    }
  )
  const port = Number(new URL(service.base).port)
  const directPort = port + 1
  const stop = await startHere(directPort)
  const host = preview.hostname

  const load = async (target: number, hostname: string) => {
    const result = await autocannon({
      url: `http://127.0.0.1:${target}/`,
      headers: { host: hostname },
      connections: 32,
      duration: seconds
    })
    if (result.non2xx > 0 || result.errors > 0) throw new Error(`${result.non2xx} refused, ${result.errors} failed`)
    return { perSecond: result.requests.average, p50: result.latency.p50, p99: result.latency.p99 }
  }
  const one = (target: number, hostname: string) =>
    timed(500, async () => {
      const sent = request({ host: "127.0.0.1", port: target, headers: { host: hostname }, agent: false }).end()
      const [answer] = (await once(sent, "response")) as [IncomingMessage]
      answer.resume()
      await once(answer, "end")
    })

  const table = []
  for (let round = 0; round < rounds; round++) {
    const through = await load(port, host)
    const direct = await load(directPort, "localhost")
    const alone = await one(port, host)
    const aloneDirect = await one(directPort, "localhost")
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
