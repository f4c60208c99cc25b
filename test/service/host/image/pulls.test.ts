import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { Redacted } from "effect"
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest"
import { ImageStore } from "../../../../src/host/image/ImageStore.ts"
import { type PullOptions, pullImage } from "../../../../src/host/image/pullImage.ts"
import { mustRun } from "../../../../src/host/linux/hostCommand.ts"
import { missingPackages } from "../../../../src/host/linux/programs.ts"
import type { ImageSource } from "../../../../src/runtime/Runtime.ts"
import {
  type Fault,
  type LayerEntry,
  layerOf,
  ociTypes,
  TestRegistry
} from "../../../support/host/image/TestRegistry.ts"

const MiB = 1024 ** 2
const obstacle = missingPackages({ mksquashfs: "squashfs-tools" }).length > 0 ? "squashfs-tools is not here" : null
const registry = await TestRegistry.start()
const folder = mkdtempSync(join(tmpdir(), "atoll-images-"))
const store = new ImageStore(folder)

afterAll(async () => {
  await registry.close()
  rmSync(folder, { recursive: true })
})

const options: PullOptions = {
  store,
  user: { name: "sandbox", uid: 1000 },
  maxBytes: 64 * MiB,
  allowed: new Set([registry.host]),
  stallMs: 300,
  signal: AbortSignal.timeout(30_000),
  inTurn: (_key, act) => act(),
  room: async () => {},
  giveBack: () => {},
  large: async () => ({ [Symbol.dispose]: () => {} })
}

const source = (tag: string, changes: Partial<ImageSource> = {}): ImageSource => ({
  reference: `${registry.host}/tests/image:${tag}`,
  digest: null,
  credentials: null,
  ...changes
})

const pull = (tag: string, changes: Partial<PullOptions> = {}, from: Partial<ImageSource> = {}) =>
  pullImage(source(tag, from), { ...options, ...changes })

const refusal = async (tag: string, changes: Partial<PullOptions> = {}, from: Partial<ImageSource> = {}) => {
  const cause: unknown = await pull(tag, changes, from).then(
    () => null,
    (it) => it
  )
  const { _tag, code } = cause as { readonly _tag?: string; readonly code?: string }
  return code ?? _tag ?? cause
}

/** Its files: mode, name, target, and size of files. */
const listed = async (digest: string): Promise<ReadonlyArray<string>> => {
  const text = await mustRun(["unsquashfs", "-lls", "-no-progress", store.path(digest)])
  return text
    .split("\n")
    .filter((line) => /squashfs-root\//.test(line))
    .map((line) =>
      line.replace(
        /^(\S+) \S+\s+(\d+) \S+ \S+ squashfs-root/,
        (_all, mode, size) => `${mode} ${mode[0] === "-" ? `${size} ` : ""}`
      )
    )
}

const contentOf = (digest: string, name: string) => mustRun(["unsquashfs", "-cat", store.path(digest), name])

const image = (tag: string, ...layers: ReadonlyArray<ReadonlyArray<LayerEntry>>) =>
  registry.image(tag, { layers: layers.map(layerOf) })

const onBlob =
  (act: Fault): Fault =>
  (request, response) =>
    /blobs/.test(request.url ?? "") && act(request, response)

beforeEach(() => {
  registry.fault = () => false
  registry.seen.length = 0
})

describe.skipIf(obstacle !== null)("a pull", () => {
  afterEach(() => {
    // Nothing unfinished is left, also after a refusal.
    expect(readdirSync(store.folder).filter((it) => !/^[0-9a-f]{64}\.(sqfs|json)$/.test(it))).toEqual([])
  })

  it("merges layers: whiteouts, opaque folders, replaced files, hard links over layers, links of folders", async () => {
    const long = `${"long/".repeat(60)}name with blanks and \u00e4`
    const digest = image(
      "merged",
      [
        { name: "./", type: "5" },
        { name: "usr/lib/", type: "5" },
        { name: "lib", type: "2", target: "usr/lib" },
        { name: "usr/lib/kept", content: "one" },
        { name: "gone", content: "x" },
        { name: "data/old", content: "x" },
        { name: "data/deep/old", content: "x" },
        { name: "changed", content: "first" },
        { name: "before", content: "before" }
      ],
      [
        { name: ".wh.gone" },
        { name: "data/new", content: "y", mode: 0o750 },
        { name: long, content: "long" },
        { name: "to-long", type: "2", target: long },
        { name: "again-long", type: "1", target: long },
        { name: "data/.wh..wh..opq" },
        { name: "changed", content: "second" },
        { name: "again", type: "1", target: "before" },
        { name: "lib/added", content: "three" },
        { name: "dev/null", type: "3" },
        { name: "pipe", type: "6" }
      ],
      [{ name: "before", content: "after" }]
    )
    const pulled = await pull("merged")
    expect(pulled.image).toMatchObject({ digest, config: { env: {}, workingDir: null } })
    expect(pulled.dropped).toBe(2)
    const files = await listed(digest)
    const names = files.map((it) => it.slice(it.indexOf("/")))
    expect(names).not.toEqual(expect.arrayContaining(["/gone"]))
    expect(names.filter((it) => /^\/(data|usr|lib|pipe|dev|\.wh)/.test(it))).toEqual([
      ...["/data", "/data/new", "/dev", "/lib -> usr/lib", "/usr", "/usr/lib", "/usr/lib/added", "/usr/lib/kept"]
    ])
    expect(await contentOf(digest, "changed")).toBe("second")
    expect([await contentOf(digest, "again"), await contentOf(digest, "before")]).toEqual(["before", "after"])
    expect(await contentOf(digest, long)).toBe("long")
    expect(await contentOf(digest, "again-long")).toBe("long")
    expect(files).toEqual(expect.arrayContaining([`lrwxrwxrwx /to-long -> ${long}`, "-rwxr-xr-x 1 /data/new"]))
    expect(await contentOf(digest, "etc/passwd")).toBe("sandbox:x:1000:1000::/workspace:/sbin/nologin\n")
    expect(files.filter((it) => /^drwxr-xr-x \/(proc|sys|tmp|run|workspace|\.atoll)$/.test(it)).length).toBe(6)
  })

  it("asks the registry for nothing but the manifest when the image is here, and reads plain and zstd layers", async () => {
    for (const compression of ["none", "zstd"] as const) {
      registry.image(compression, { layers: [layerOf([{ name: "file", content: compression }])], compression })
      const { image: first } = await pull(compression)
      expect(await contentOf(first.digest, "file")).toBe(compression)
      registry.seen.length = 0
      expect((await pull(compression)).image).toEqual(first)
      expect(registry.seen.filter(({ path }) => path !== "/v2/").map(({ path }) => path)).toEqual([
        `/v2/tests/image/manifests/${compression}`
      ])
    }
  })

  it("keeps links that lead out of the image as links, and follows none of them out", async () => {
    const digest = image("out", [
      { name: "out", type: "2", target: "../../../../tmp" },
      { name: "out/imgh-escaped", content: "inside" },
      { name: "/absolute", content: "inside" },
      { name: "tmp2", type: "2", target: "/etc" }
    ])
    await pull("out")
    expect((await listed(digest)).filter((it) => /absolute|out|tmp2/.test(it))).toEqual([
      "-rw-r--r-- 6 /absolute",
      "lrwxrwxrwx /out -> ../../../../tmp",
      "lrwxrwxrwx /tmp2 -> /etc"
    ])
    expect(() => readFileSync("/tmp/imgh-escaped")).toThrow()
  })

  it.each<[string, ReadonlyArray<LayerEntry>]>([
    ["a name with ..", [{ name: "a/../../b", content: "x" }]],
    ["a hard link to a name with ..", [{ name: "shadow", type: "1", target: "../../etc/shadow" }]],
    ["a hard link to what is not there", [{ name: "shadow", type: "1", target: "etc/shadow" }]],
    ["a name that is too long", [{ name: `${"n".repeat(300)}`, content: "x" }]],
    ["folders that are too deep", [{ name: `${"d/".repeat(300)}f`, content: "x" }]],
    [
      "a file below a file",
      [
        { name: "file", content: "x" },
        { name: "file/below", content: "x" }
      ]
    ],
    [
      "links in a circle",
      [
        { name: "a", type: "2", target: "b" },
        { name: "b", type: "2", target: "a" },
        { name: "a/file", content: "x" }
      ]
    ]
  ])("refuses %s", async (_what, entries) => {
    image("hostile", entries)
    expect(await refusal("hostile")).toBe("IMAGE_INVALID")
  })

  it("refuses a sparse file, another architecture, an unknown layer and an unknown manifest", async () => {
    image("sparse", [{ name: "sparse", type: "S" }])
    registry.image("other", { layers: [], architecture: "s390x" })
    registry.image("layer", { layers: [layerOf([])], layerType: "application/x-rar" })
    registry.manifest("manifest", "application/vnd.docker.distribution.manifest.v1+json", { schemaVersion: 1 })
    for (const tag of ["sparse", "other", "layer", "manifest"]) expect(await refusal(tag)).toBe("IMAGE_UNSUPPORTED")
    expect(await refusal("missing")).toBe("IMAGE_NOT_FOUND")
  })

  it("refuses a layer of zeros before it is unpacked, and an image whose layers are too large together", async () => {
    const zeros = gzipSync(Buffer.concat([layerOf([{ name: "zeros", content: Buffer.alloc(100 * MiB) }])]), {
      level: 1
    })
    registry.image("zeros", { layers: [zeros], compression: "none", layerType: ociTypes.gzip })
    expect(await refusal("zeros")).toBe("IMAGE_TOO_LARGE")
    image("large", [{ name: "a", content: Buffer.alloc(MiB, "a") }], [{ name: "a", content: Buffer.alloc(MiB, "b") }])
    expect(await refusal("large", { maxBytes: 2 * MiB })).toBe("IMAGE_TOO_LARGE")
    expect(await refusal("large", { maxBytes: 100 })).toBe("IMAGE_TOO_LARGE")
  })

  it("refuses a manifest, a layer and a configuration that are not what their digests say, shorter or longer", async () => {
    const digest = image("right", [{ name: "file", content: "right" }])
    registry.fault = (request, response) => {
      if (!/manifests/.test(request.url ?? "")) return false
      response.end("{}")
      return true
    }
    expect(await refusal("right", {}, { digest })).toBe("IMAGE_INVALID")
    for (const change of [
      (bytes: Buffer) => Buffer.concat([bytes, Buffer.from("x")]),
      (bytes: Buffer) => bytes.subarray(1),
      (bytes: Buffer) => Buffer.concat([Buffer.from("x"), bytes.subarray(1)])
    ]) {
      registry.fault = onBlob((request, response) => {
        response.end(change(registry.blobs.get(request.url!.split("/").at(-1)!)!))
        return true
      })
      expect(await refusal("right")).toBe("IMAGE_INVALID")
    }
  })

  it("gives up a registry that is silent, sends a byte at a time, ends a connection early, or fails, and the next attempt works", async () => {
    const digest = image("late", [{ name: "file", content: "late" }])
    for (const act of [
      onBlob((_request, response) => {
        response.writeHead(200, { "content-length": 1000 }).write("beginning")
        return true
      }),
      onBlob((_request, response) => {
        response.writeHead(200, { "content-length": 1000 }).write("x", () => response.destroy())
        return true
      }),
      (request, response) => {
        if (!/manifests/.test(request.url ?? "")) return false
        const timer = setInterval(() => response.write(" "), 20)
        response.on("close", () => clearInterval(timer))
        return true
      },
      onBlob((_request, response) => {
        response.writeHead(503).end()
        return true
      }),
      onBlob((_request, response) => {
        response.writeHead(200)
        const timer = setInterval(() => response.write("x"), 20)
        response.on("close", () => clearInterval(timer))
        return true
      })
    ] satisfies ReadonlyArray<Fault>) {
      registry.fault = act
      expect(await refusal("late")).toBe("RuntimeUnavailable")
    }
    registry.fault = () => false
    expect((await pull("late")).image.digest).toBe(digest)
  })

  it("reads from no private address, by name, number, redirect or token server, unless the operator names it", async () => {
    image("private", [{ name: "file", content: "x" }])
    const closed = { allowed: new Set<string>() }
    expect(await refusal("private", closed)).toBe("IMAGE_ADDRESS_FORBIDDEN")
    const named = { reference: "registry.example.org/tests/image:private" }
    const resolve = async () => ["93.184.216.34", "10.0.0.1"]
    expect(await refusal("private", { ...closed, resolve }, named)).toBe("IMAGE_ADDRESS_FORBIDDEN")
    const redirected = (location: string): Fault =>
      onBlob((_request, response) => {
        response.writeHead(307, { location }).end()
        return true
      })
    for (const location of [
      "http://169.254.169.254/latest",
      "https://127.0.0.1:1/x",
      "http://example.org/x",
      "https://[::1]/x"
    ]) {
      registry.fault = redirected(location)
      expect(await refusal("private")).toBe("IMAGE_ADDRESS_FORBIDDEN")
    }
    registry.fault = redirected("/v2/tests/image/blobs/again")
    expect(await refusal("private")).toBe("RuntimeUnavailable")
  })

  it("sends credentials to the registry alone: not to a host that it redirects to, nor to a foreign token server", async () => {
    const other = await TestRegistry.start()
    try {
      image("secret", [{ name: "file", content: "x" }])
      const credentials = { username: "user", password: Redacted.make("password") }
      const allowed = new Set([registry.host, other.host])
      const basic = `Basic ${Buffer.from("user:password").toString("base64")}`
      let scheme = 'Basic realm="tests"'
      registry.fault = (request, response) => {
        if (request.url === "/v2/") return false
        if (request.headers.authorization === undefined) {
          response.writeHead(401, { "www-authenticate": scheme }).end()
          return true
        }
        if (!/blobs/.test(request.url!)) return false
        response.writeHead(307, { location: `http://${other.host}${request.url}` }).end()
        return true
      }
      for (const [digest, bytes] of registry.blobs) other.blobs.set(digest, bytes)
      expect(await refusal("secret", { allowed })).toBe("IMAGE_UNAUTHORIZED")
      await pull("secret", { allowed }, { credentials })
      expect(registry.seen.at(-1)!.authorization).toBe(basic)
      expect(other.seen.length).toBeGreaterThan(0)
      expect(other.seen.filter(({ authorization }) => authorization !== undefined)).toEqual([])

      scheme = `Bearer realm="http://localhost:${other.host.split(":")[1]}/token",service="tests"`
      other.fault = (request, response) => {
        if (!request.url!.startsWith("/token")) return false
        response.end(JSON.stringify({ token: "ticket" }))
        return true
      }
      image("secret", [{ name: "file", content: "another" }])
      for (const [digest, bytes] of registry.blobs) other.blobs.set(digest, bytes)
      const withServer = new Set([...allowed, `localhost:${other.host.split(":")[1]}`])
      await pull("secret", { allowed: withServer }, { credentials })
      const asked = other.seen.find(({ path }) => path.startsWith("/token"))
      expect(asked).toEqual({
        path: "/token?service=tests&scope=repository%3Atests%2Fimage%3Apull",
        authorization: undefined
      })
      expect(registry.seen.at(-1)!.authorization).toBe("Bearer ticket")
    } finally {
      await other.close()
    }
  })
})
