/**
 * Files over HTTP: 8 MiB in and out beside node:http streaming a local file, stat, pages of a directory of 100,000, and
 * the service's memory for 50 concurrent readers.
 */
import { fork } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { BenchService, quantile, timed } from "./BenchService.ts"
import { Sender } from "./Sender.ts"

const content = Buffer.alloc(8 * 1024 * 1024, "0123456789abcdef-")
const directoryEntries = 100_000
const readersAtOnce = 50

const { send } = new Sender(readersAtOnce)

const plainServer = async <A>(run: (url: string) => Promise<A>): Promise<A> => {
  const folder = await mkdtemp(join(tmpdir(), "atoll-bench-plain-"))
  const path = join(folder, "file")
  await writeFile(path, content)
  const child = fork(join(import.meta.dirname, "PlainFileServer.ts"), [path])
  try {
    const port = await new Promise((resolve) => child.once("message", resolve))
    return await run(`http://127.0.0.1:${port}/`)
  } finally {
    child.kill()
    await rm(folder, { recursive: true })
  }
}

const ms = (value: number) => Number(value.toFixed(2))
const row = (what: string, took: ReadonlyArray<number>, bytes = 0) => ({
  what,
  "p50 ms": ms(quantile(took, 0.5)),
  "p99 ms": ms(quantile(took, 0.99)),
  "MiB/s": bytes === 0 ? "" : Math.round(bytes / 1024 / 1024 / (quantile(took, 0.5) / 1000))
})

await BenchService.use({ ATOLL_RUNTIME: process.env["ATOLL_RUNTIME"] ?? "namespace" }, async (service) => {
  const id = await service.sandbox(await service.workspace())
  const url = (call: string, path: string, more = "") =>
    `${service.base}/sandboxes/${id}/files${call}?path=${encodeURIComponent(path)}${more}`
  const octets = { ...service.headers, "content-type": "application/octet-stream" }
  const big = url("/content", "/workspace/big")
  const put = () => send("PUT", big, octets, content)
  const get = () => send("GET", big, service.headers)

  await timed(5, put)
  await timed(5, get)
  await plainServer(async (plain) => {
    const plainPut = () => send("PUT", plain, {}, content)
    const plainGet = () => send("GET", plain, {})
    await timed(5, plainPut)
    await timed(5, plainGet)
    // Alternately, so that both meet the same machine.
    const took: Record<"put" | "get" | "plainPut" | "plainGet", Array<number>> = {
      put: [],
      get: [],
      plainPut: [],
      plainGet: []
    }
    for (let round = 0; round < 40; round++) {
      took.plainGet.push(...(await timed(1, plainGet)))
      took.get.push(...(await timed(1, get)))
      took.plainPut.push(...(await timed(1, plainPut)))
      took.put.push(...(await timed(1, put)))
    }
    console.table([
      row("read 8 MiB, node:http", took.plainGet, content.byteLength),
      row("read 8 MiB, Atoll", took.get, content.byteLength),
      row("write 8 MiB, node:http", took.plainPut, content.byteLength),
      row("write 8 MiB, Atoll", took.put, content.byteLength)
    ])
    const ratio = (plain: ReadonlyArray<number>, ours: ReadonlyArray<number>) =>
      (quantile(plain, 0.5) / quantile(ours, 0.5)).toFixed(2)
    console.log(
      `of node:http's speed: read ${ratio(took.plainGet, took.get)}, write ${ratio(took.plainPut, took.put)} (wanted: 0.50)`
    )
  })

  const small = url("/content", "/workspace/small")
  await send("PUT", small, octets, Buffer.from("small"))
  const stat = () => send("GET", url("/stat", "/workspace/small"), service.headers)
  await timed(50, stat)
  const stats = await timed(500, stat)
  const smallPuts = await timed(200, () => send("PUT", small, octets, Buffer.from("small")))

  const filled = await service.call<{ result: { exitCode: number } }>("POST", `/sandboxes/${id}/execute`, {
    argv: [
      "sh",
      "-c",
      `mkdir big-directory && cd big-directory && seq -f file-number-%.0f.txt ${directoryEntries} | xargs touch`
    ],
    timeoutSeconds: 300
  })
  if (filled.result.exitCode !== 0) throw new Error("The directory could not be filled")
  const pages: Array<number> = []
  const firstPages: Array<number> = []
  for (let listing = 0; listing < 3; listing++) {
    for (let cursor: string | null = "", page = 0; cursor !== null; page++) {
      const before = performance.now()
      const after: string = cursor === "" ? "" : `&cursor=${cursor}`
      const list: { entries: ReadonlyArray<unknown>; nextCursor: string | null } = await service.call(
        "GET",
        url("/list", "/workspace/big-directory", after).slice(service.base.length)
      )
      ;(page === 0 ? firstPages : pages).push(performance.now() - before)
      cursor = list.nextCursor
    }
  }
  console.table([
    row("stat", stats),
    row("write 5 bytes", smallPuts),
    row("first page of 1,000 among 100,000", firstPages),
    row("later pages", pages)
  ])

  const before = await service.residentBytes()
  let peak = before
  const watch = setInterval(async () => {
    peak = Math.max(peak, await service.residentBytes())
  }, 20)
  for (let round = 0; round < 4; round++) await Promise.all(Array.from({ length: readersAtOnce }, get))
  clearInterval(watch)
  const mib = (bytes: number) => Math.round(bytes / 1024 / 1024)
  console.log(
    `${readersAtOnce} concurrent readers of 8 MiB, 4 times: resident ${mib(before)} MiB before, ${mib(peak)} MiB at most`
  )
})
