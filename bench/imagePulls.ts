/**
 * An image of 300 MB, half of which cannot be compressed, from Debian's `docker-registry` on this machine, over HTTP on namespaces (as root): from the
 * request for the image to the first command that ended in a Sandbox from it; and the second Sandbox from it on the same host, beside one without an image,
 * in turns and without spares. Each round has another image. `BENCH_ROUNDS` sets how many (default 3), `BENCH_IMAGE_MB` the size.
 */
import { randomBytes } from "node:crypto"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { Effect } from "effect"
import { debianRegistry } from "../test/support/host/image/DebianRegistry.ts"
import { type LayerEntry, layerOf, ociTypes } from "../test/support/host/image/TestRegistry.ts"
import { BenchService } from "./BenchService.ts"
import { headline } from "./Headline.ts"
import { inRounds } from "./Rounds.ts"
import { timesRow } from "./TimesRow.ts"

const rounds = Number(process.env["BENCH_ROUNDS"] ?? 3)
const megabytes = Number(process.env["BENCH_IMAGE_MB"] ?? 300)
const layerCount = 3
const fileBytes = 250_000
/** Of each kind, in turns, in each round. */
const turns = 5

const login = { username: "bench", password: randomBytes(16).toString("hex") }

const shell = async (): Promise<ReadonlyArray<LayerEntry>> => [
  { name: "bin/busybox", content: await readFile("/bin/busybox"), mode: 0o755 },
  ...["sh", "true"].map((name) => ({ name: `bin/${name}`, type: "2" as const, target: "busybox" }))
]

const layer = (index: number, more: ReadonlyArray<LayerEntry>): Buffer => {
  const count = Math.round((megabytes * 1e6) / layerCount / fileBytes)
  const files = Array.from({ length: count }, (_, file) => ({
    name: `opt/${index}/${file}`,
    content: Buffer.concat([randomBytes(fileBytes / 2), Buffer.alloc(fileBytes / 2, `line ${file}\n`)])
  }))
  return gzipSync(layerOf([...more, ...files]), { level: 1 })
}

/** A registry that has an image under each of so many tags. Calls `use` with its address. */
const withRegistry = (use: (host: string) => Promise<void>) =>
  Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* Effect.acquireRelease(
          Effect.promise(() => mkdtemp(join(tmpdir(), "atoll-bench-registry-"))),
          (it) => Effect.promise(() => rm(it, { recursive: true, force: true }))
        )
        const { host, push } = yield* debianRegistry(folder, login)
        const types = { manifest: ociTypes.manifest, config: ociTypes.config, layer: ociTypes.gzip }
        const programs = yield* Effect.promise(shell)
        let bytes = 0
        for (let round = 0; round < rounds; round++) {
          const layers = Array.from({ length: layerCount }, (_, index) => layer(index, index === 0 ? programs : []))
          bytes = layers.reduce((sum, { length }) => sum + length, 0)
          yield* Effect.promise(() => push("bench/image", String(round), types, layers))
        }
        console.log(`${megabytes} MB are ${Math.round(bytes / 1e6)} MB compressed, in ${layerCount} layers.`)
        yield* Effect.promise(() => use(host))
      })
    )
  )

interface Pulled {
  readonly image: { readonly id: string; readonly status: string; readonly statusReason: unknown }
}

const measured = async (service: BenchService, host: string) => {
  const workspaceId = await service.workspace()
  const remove = (id: string) => service.call("DELETE", `/sandboxes/${id}`)
  const firstCommand = async (imageId: string | null) => {
    const began = performance.now()
    const id = await service.sandbox(workspaceId, { imageId })
    await service.call("POST", `/sandboxes/${id}/execute`, { argv: ["true"] })
    const took = performance.now() - began
    await remove(id)
    return took
  }
  const pulled = async (tag: string): Promise<string> => {
    const asked = { reference: `${host}/bench/image:${tag}`, ...login }
    let { image } = await service.call<Pulled>("POST", "/images", asked)
    while (image.status === "pulling") {
      await new Promise((resolve) => setTimeout(resolve, 10))
      image = (await service.call<Pulled>("GET", `/images/${image.id}`)).image
    }
    if (image.status !== "ready") throw new Error(JSON.stringify(image))
    return image.id
  }
  const [first, second, plain]: [Array<number>, Array<number>, Array<number>] = [[], [], []]
  // Compiles what the others run.
  await firstCommand(null)
  for (let round = 0; round < rounds; round++) {
    const began = performance.now()
    const imageId = await pulled(String(round))
    await firstCommand(imageId)
    first.push(performance.now() - began)
    for (let turn = 0; turn < turns; turn++) {
      plain.push(await firstCommand(null))
      second.push(await firstCommand(imageId))
    }
    await service.call("DELETE", `/images/${imageId}`)
  }
  return { first, second, plain }
}

await withRegistry(async (host) => {
  const environment = {
    ATOLL_RUNTIME: "namespace",
    ATOLL_SPARES: "0",
    ATOLL_IMAGE_REGISTRIES: host,
    ATOLL_WORKSPACE_STORAGE_BYTES: String(1024 ** 4)
  }
  await BenchService.use(environment, async (service) => {
    const { first, second, plain } = await measured(service, host)
    console.table([
      timesRow("pull, create, first command ended", first),
      timesRow("create from it again, first command ended", second),
      timesRow("create without an image, first command ended", plain)
    ])
    const better = "lower" as const
    headline({
      name: `image of ${megabytes} MB: first use, registry on this machine`,
      unit: "s",
      better,
      values: first.map((ms) => ms / 1000),
      aim: { value: 20 }
    })
    headline({
      name: `image of ${megabytes} MB: second use on the same host`,
      unit: "ms",
      better,
      values: inRounds(second),
      other: { name: "no image, no spare", values: inRounds(plain) },
      aim: { ratio: 1 }
    })
  })
})
