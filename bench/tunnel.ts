/** A tunnel (service access) beside plain TCP on the loopback: MiB/s of one connection out of a Sandbox, and the time to the first byte. */
import { connect } from "node:net"
import { freePort } from "../test/support/freePort.ts"
import { BenchService, quantile } from "./BenchService.ts"
import { BenchTunnel } from "./BenchTunnel.ts"
import { firstBytes, plainFirstByte } from "./FirstBytes.ts"
import { type ColumnHeadline, headline, headlines } from "./Headline.ts"
import { startHere } from "./InsideProgram.ts"
import { inRounds } from "./Rounds.ts"

const rounds = 3
/** The first tunnels of a service take longer, until its code is compiled. */
const firstTunnels = 100
const warmUpTunnels = 1000
const bytes = 512 * 1024 ** 2
const MiB = 1024 ** 2

type Column = "tunnel MiB/s" | "plain TCP MiB/s" | "tunnel connect and byte p50 ms" | "plain p50 ms"

const figures: ReadonlyArray<ColumnHeadline<Column>> = [
  {
    name: "tunnel, bulk",
    unit: "MiB/s",
    better: "higher",
    column: "tunnel MiB/s",
    other: { name: "plain TCP", column: "plain TCP MiB/s" },
    aim: { ratio: 0.5 }
  },
  {
    name: "tunnel, connect and first byte",
    unit: "ms",
    better: "lower",
    column: "tunnel connect and byte p50 ms",
    other: { name: "plain TCP", column: "plain p50 ms" },
    aim: { value: 1.5 }
  }
]

await BenchService.use({ ATOLL_RUNTIME: "namespace", ATOLL_SERVICE_ACCESS: "on" }, async (service) => {
  const sandboxId = await service.sandbox(await service.workspace())
  const { carry: tunnel } = await BenchTunnel.into(service, sandboxId)
  const directPort = await freePort()
  const stop = await startHere(directPort)

  const plain = async (count: number): Promise<void> => {
    const socket = connect(directPort + 1, "127.0.0.1")
    socket.write(`${count}\n`)
    let size = 0
    for await (const chunk of socket) size += (chunk as Buffer).length
    if (size !== count) throw new Error(`${size} bytes came of ${count}`)
  }

  const rateOf = async (run: (count: number) => Promise<void>) => {
    const began = performance.now()
    await run(bytes)
    return Math.round(bytes / MiB / ((performance.now() - began) / 1000))
  }

  const began = await firstBytes(firstTunnels, (first) => tunnel(1, first))
  await firstBytes(warmUpTunnels, (first) => tunnel(1, first))
  const table = []
  for (let round = 0; round < rounds; round++) {
    const ours = await rateOf(tunnel)
    const theirs = await rateOf(plain)
    table.push({
      "tunnel MiB/s": ours,
      "plain TCP MiB/s": theirs,
      ratio: Number((ours / theirs).toFixed(2)),
      "tunnel connect and byte p50 ms": Number(
        quantile(await firstBytes(200, (first) => tunnel(1, first)), 0.5).toFixed(2)
      ),
      "plain p50 ms": Number(quantile(await firstBytes(200, plainFirstByte(directPort + 1)), 0.5).toFixed(2)),
      "service MiB": Math.round((await service.residentBytes()) / MiB)
    })
  }
  console.table(table)
  headlines(table, figures)
  headline({
    name: `tunnel, connect and first byte, the first ${firstTunnels}`,
    unit: "ms",
    better: "lower",
    values: inRounds(began)
  })
  stop()
})
