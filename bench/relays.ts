/**
 * What two bare relays reach, which only pass bytes on, beside the same server reached directly: the floor of everything that goes through the service
 * and an agent into a Sandbox. One relay listens on TCP and connects to a unix socket, as the service does; the other listens on that socket and connects
 * to the server, as the agent does. Each is a Node process without any code but its copying.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { freePort } from "../test/support/freePort.ts"
import { quantile } from "./BenchService.ts"
import { firstBytes, plainFirstByte } from "./FirstBytes.ts"
import { type ColumnHeadline, headline, headlines } from "./Headline.ts"
import { startHere } from "./InsideProgram.ts"
import { download, echo, loneAnswers, manyAnswers } from "./WebLoad.ts"

const rounds = Number(process.env["BENCH_ROUNDS"] ?? 3)
const echoBytes = Number(process.env["BENCH_ECHO_BYTES"] ?? 1024 ** 3)

type Column =
  | "relayed/s"
  | "direct/s"
  | "proxied/s"
  | "MiB/s"
  | "direct MiB/s"
  | "added ms alone"
  | "connect ms"
  | "direct connect ms"

const direct = "the server itself"
const figures: ReadonlyArray<ColumnHeadline<Column>> = [
  {
    name: "two bare relays, small answers, 32 connections",
    unit: "/s",
    better: "higher",
    column: "relayed/s",
    other: { name: direct, column: "direct/s" }
  },
  {
    name: "a bare HTTP proxy and a relay, small answers, 32 connections",
    unit: "/s",
    better: "higher",
    column: "proxied/s",
    other: { name: direct, column: "direct/s" }
  },
  { name: "two bare relays, added to a lone answer", unit: "ms", better: "lower", column: "added ms alone" },
  {
    name: "two bare relays, bulk",
    unit: "MiB/s",
    better: "higher",
    column: "MiB/s",
    other: { name: direct, column: "direct MiB/s" }
  },
  {
    name: "two bare relays, connect and first byte",
    unit: "ms",
    better: "lower",
    column: "connect ms",
    other: { name: "plain TCP", column: "direct connect ms" }
  }
]

/** Runs it until the function that this resolves with is called. It says when it listens. */
const started = async (source: string, ...given: ReadonlyArray<string>): Promise<() => void> => {
  const child = spawn(process.execPath, ["-e", source, ...given], { stdio: ["ignore", "pipe", "inherit"] })
  await once(child.stdout, "data")
  return () => void child.kill()
}

/** From one address to another: a port of the loopback, or the path of a unix socket. */
const relay = async (from: string, to: string): Promise<() => void> => {
  const source = `
    const net = require("node:net")
    const [from, to] = process.argv.slice(1).map((at) => (at.startsWith("/") ? { path: at } : { port: Number(at), host: "127.0.0.1" }))
    const join = (one, other) => {
      one.on("data", (bytes) => { if (!other.write(bytes)) one.pause() })
      other.on("drain", () => one.resume())
      one.on("end", () => other.end())
      one.on("error", () => other.destroy())
    }
    net.createServer({ allowHalfOpen: true, noDelay: true }, (one) => {
      const other = net.connect({ ...to, allowHalfOpen: true, noDelay: true })
      join(one, other)
      join(other, one)
    }).listen(from, () => console.log("up"))`
  return started(source, from, to)
}

/** Node's own HTTP server and client in one process, as the first relay: each request is read, and sent to the path on a connection that stays open. */
const proxy = async (port: number, to: string): Promise<() => void> => {
  const source = `
    const http = require("node:http")
    const [port, socketPath] = process.argv.slice(1)
    const agent = new http.Agent({ keepAlive: true, noDelay: true })
    http.createServer((asked, answer) => {
      const { method, url, headers } = asked
      const passed = http.request({ socketPath, agent, method, path: url, headers }, (answered) => {
        answer.writeHead(answered.statusCode, answered.headers)
        answered.pipe(answer)
      })
      passed.on("error", () => answer.destroy())
      asked.pipe(passed)
    }).listen(port, "127.0.0.1", () => console.log("up"))`
  return started(source, String(port), to)
}

const folder = await mkdtemp(join(tmpdir(), "atoll-relays-"))
const [port, directPort] = [await freePort(), await freePort()]
const [rawPort, proxyPort] = [await freePort(), await freePort()]
const stops = [
  await startHere(directPort),
  await relay(join(folder, "web"), String(directPort)),
  await relay(String(port), join(folder, "web")),
  await relay(join(folder, "raw"), String(directPort + 1)),
  await relay(String(rawPort), join(folder, "raw")),
  await proxy(proxyPort, join(folder, "web"))
]
try {
  const table = []
  for (let round = 0; round < rounds; round++) {
    const [through, here] = [await manyAnswers(port, "localhost"), await manyAnswers(directPort, "localhost")]
    const proxied = await manyAnswers(proxyPort, "localhost")
    const [alone, aloneHere] = [await loneAnswers(port, "localhost"), await loneAnswers(directPort, "localhost")]
    table.push({
      "relayed/s": Math.round(through.perSecond),
      "direct/s": Math.round(here.perSecond),
      "proxied/s": Math.round(proxied.perSecond),
      "added ms alone": Number((quantile(alone, 0.5) - quantile(aloneHere, 0.5)).toFixed(2)),
      "MiB/s": Math.round(await download(port, "localhost")),
      "direct MiB/s": Math.round(await download(directPort, "localhost")),
      "connect ms": Number(quantile(await firstBytes(200, plainFirstByte(rawPort)), 0.5).toFixed(2)),
      "direct connect ms": Number(quantile(await firstBytes(200, plainFirstByte(directPort + 1)), 0.5).toFixed(2))
    })
  }
  console.table(table)
  headlines(table, figures)
  const rate = await echo(port, "localhost", echoBytes, async () => {})
  const directRate = await echo(directPort, "localhost", echoBytes, async () => {})
  headline({
    name: "two bare relays, WebSocket echo",
    unit: "MiB/s",
    better: "higher",
    values: [rate],
    other: { name: direct, values: [directRate] }
  })
} finally {
  for (const stop of stops) stop()
  await rm(folder, { recursive: true })
}
