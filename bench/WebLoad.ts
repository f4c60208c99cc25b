/** Clients of the web server of `InsideProgram.ts`, wherever it is reached: 32 at a time, one alone, a large download, and a WebSocket echo. */
import { once } from "node:events"
import { type IncomingMessage, request } from "node:http"
import autocannon from "autocannon"
import { WebSocket } from "ws"
import { timed } from "./BenchService.ts"

const seconds = Number(process.env["BENCH_SECONDS"] ?? 4)
const downloadBytes = 512 * 1024 ** 2
const messageBytes = 256 * 1024
const inFlightMaxBytes = 4 * 1024 ** 2
const MiB = 1024 ** 2

/** Requests a second from 32 connections, and their milliseconds. */
export const manyAnswers = async (port: number, host: string) => {
  const result = await autocannon({
    url: `http://127.0.0.1:${port}/`,
    headers: { host },
    connections: 32,
    duration: seconds
  })
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${result.non2xx} refused, ${result.errors} failed`)
  return { perSecond: result.requests.average, p50: result.latency.p50, p99: result.latency.p99 }
}

/** Milliseconds of each request of one client, on a connection of its own. */
export const loneAnswers = (port: number, host: string): Promise<ReadonlyArray<number>> =>
  timed(500, async () => {
    const sent = request({ host: "127.0.0.1", port, headers: { host }, agent: false }).end()
    const [answer] = (await once(sent, "response")) as [IncomingMessage]
    answer.resume()
    await once(answer, "end")
  })

/** MiB/s. */
export const download = async (port: number, host: string): Promise<number> => {
  const began = performance.now()
  const sent = request({ host: "127.0.0.1", port, path: `/bytes?n=${downloadBytes}`, headers: { host } }).end()
  const [answer] = (await once(sent, "response")) as [IncomingMessage]
  let size = 0
  for await (const chunk of answer) size += (chunk as Buffer).length
  if (size !== downloadBytes) throw new Error(`${size} bytes came of ${downloadBytes}`)
  return downloadBytes / MiB / ((performance.now() - began) / 1000)
}

/** MiB/s of one direction; `watch` is called now and then. */
export const echo = async (port: number, host: string, bytes: number, watch: () => Promise<void>): Promise<number> => {
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
