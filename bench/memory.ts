/**
 * The service's resident memory through an hour (BENCH_MINUTES) of the whole load at once: commands, operations whose output is followed,
 * Sandboxes made and deleted, files, previews, tunnels, lists and logs. The time is divided into six windows; the figures are the median of
 * each but the first, in which the service grows to its load, and how much larger the last is than the second.
 */
import { request } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { BenchService, quantile } from "./BenchService.ts"
import { BenchTunnel } from "./BenchTunnel.ts"
import { headline } from "./Headline.ts"
import { insidePort } from "./InsideProgram.ts"

const minutes = Number(process.env["BENCH_MINUTES"] ?? 60)
const windows = 6
const sampleEveryMs = 2_000
const MiB = 1024 ** 2

interface Place {
  readonly service: BenchService
  readonly workspaceId: string
  readonly sandboxId: string
  readonly previewHost: string
  readonly tunnel: BenchTunnel
}

const answered = async (answer: Response): Promise<void> => {
  if (!answer.ok) throw new Error(`${answer.url}: ${answer.status} ${await answer.text()}`)
  await answer.arrayBuffer()
}

/** What each client does again and again, and how many such clients there are. */
const work: Readonly<Record<string, { readonly clients: number; readonly run: (place: Place) => Promise<unknown> }>> = {
  execute: {
    clients: 4,
    run: ({ service, sandboxId }) => service.call("POST", `/sandboxes/${sandboxId}/execute`, { argv: ["true"] })
  },
  output: {
    clients: 2,
    run: async ({ service, sandboxId }) => {
      const at = `/sandboxes/${sandboxId}/operations`
      const argv = ["head", "-c", String(2 * MiB), "/dev/zero"]
      const { operation } = await service.call<{ operation: { id: string } }>("POST", at, { argv })
      await answered(await fetch(`${service.base}${at}/${operation.id}/output/stream`, { headers: service.headers }))
    }
  },
  life: {
    clients: 1,
    run: async ({ service, workspaceId }) => {
      const id = await service.sandbox(workspaceId)
      await service.call("POST", `/sandboxes/${id}/execute`, { argv: ["true"] })
      await service.call("DELETE", `/sandboxes/${id}`)
      // A minute has a bound of creates, and a host one of starts.
      await sleep(1_000)
    }
  },
  file: {
    clients: 1,
    run: async ({ service, sandboxId }) => {
      const url = `${service.base}/sandboxes/${sandboxId}/files/content?path=/workspace/big`
      const headers = { ...service.headers, "content-type": "application/octet-stream" }
      await answered(await fetch(url, { method: "PUT", headers, body: Buffer.alloc(4 * MiB, 1) }))
      await answered(await fetch(url, { headers: service.headers }))
    }
  },
  preview: {
    clients: 4,
    run: async ({ service, previewHost }) => {
      await new Promise<void>((resolve, reject) => {
        const { port } = new URL(service.base)
        request(
          { host: "127.0.0.1", port, path: `/bytes?n=${64 * 1024}`, headers: { host: previewHost } },
          (answer) => {
            answer.resume().once("end", resolve)
          }
        )
          .once("error", reject)
          .end()
      })
    }
  },
  tunnel: { clients: 1, run: ({ tunnel }) => tunnel.carry(16 * MiB) },
  look: {
    clients: 1,
    run: async ({ service, sandboxId }) => {
      for (const path of ["/sandboxes", `/sandboxes/${sandboxId}`, `/sandboxes/${sandboxId}/operations`])
        await service.call("GET", path)
    }
  }
}

await BenchService.use(
  {
    ATOLL_RUNTIME: "namespace",
    ATOLL_SERVICE_ACCESS: "on",
    ATOLL_SANDBOXES_PER_ACCOUNT: "100",
    ATOLL_VOLUME_BYTES: String(512 * MiB)
  },
  async (service) => {
    const workspaceId = await service.workspace()
    const sandboxId = await service.sandbox(workspaceId, { networkEnabled: true })
    const tunnel = await BenchTunnel.into(service, sandboxId)
    const { preview } = await service.call<{ preview: { hostname: string } }>(
      "POST",
      `/sandboxes/${sandboxId}/previews`,
      {
        port: insidePort
      }
    )
    const place = { service, workspaceId, sandboxId, previewHost: preview.hostname, tunnel }
    const end = performance.now() + minutes * 60_000
    const done: Record<string, number> = {}
    const clients = Object.entries(work).flatMap(([name, { clients, run }]) =>
      Array.from({ length: clients }, async () => {
        while (performance.now() < end) {
          await run(place)
          done[name] = (done[name] ?? 0) + 1
        }
      })
    )
    const medians: Array<number> = []
    const watch = async () => {
      for (let left = windows; left > 0; left--) {
        const samples: Array<number> = []
        const until = end - ((left - 1) * minutes * 60_000) / windows
        do {
          samples.push((await service.residentBytes()) / 1e6)
          await sleep(sampleEveryMs)
        } while (performance.now() < until)
        medians.push(Math.round(quantile(samples, 0.5)))
        // Now: a run that fails later keeps what it has measured.
        console.log(`window ${medians.length}: ${medians.at(-1)} MB resident, median`)
      }
    }
    await Promise.all([watch(), ...clients])
    console.table([done])
    const [, ...settled] = medians
    const name = `memory of the service, ${minutes} minutes of the whole load`
    headline({ name, unit: "MB", better: "lower", values: settled, aim: { value: 300 } })
    headline({
      name: `${name}: the last window against the second`,
      unit: "",
      better: "lower",
      values: [settled.at(-1)! / settled[0]!],
      aim: { value: 1.1 }
    })
  }
)
