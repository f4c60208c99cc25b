/** Large files of the TypeScript library: passed on as they come, both ways, also where connections are cut. */
import { createHash, randomBytes } from "node:crypto"
import { Readable } from "node:stream"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { it as plainly } from "vitest"
import { Atoll, AtollError, ConnectionError } from "../../../../clients/typescript/src/index.ts"
import { cuttingProxy } from "../../../support/clients/CuttingProxy.ts"
import { freshDriver, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { ServedAtoll } from "../../../support/ServedAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"

const environment = { ATOLL_VOLUME_BYTES: String(256 * 1024 ** 2) }
const mebibyte = 1024 ** 2

const failed = async (call: Promise<unknown>): Promise<unknown> => {
  try {
    await call
  } catch (thrown) {
    return thrown
  }
  throw new Error("It did not fail.")
}

const digest = async (chunks: AsyncIterable<Uint8Array>): Promise<string> => {
  const hash = createHash("sha256")
  for await (const chunk of chunks) hash.update(chunk)
  return hash.digest("hex")
}

/** That many pieces, all of them different. */
async function* pieces(count: number, bytes: number, taken: (at: number) => void = () => {}) {
  for (let at = 0; at < count; at++) {
    taken(at)
    yield new Uint8Array(bytes).fill(at)
  }
}

/** A service that is none: what is asked of it is noted, and files have `size` bytes. */
const pretended = async (size: number, upload: (body: ReadableStream<Uint8Array>) => Promise<void>) => {
  const asked: Array<string> = []
  const json = (body: unknown) =>
    new Response(JSON.stringify(body), { headers: { "content-type": "application/json" } })
  const atoll = new Atoll({
    apiKey: "key",
    url: "http://127.0.0.1:9",
    fetch: async (input, init) => {
      const { pathname, searchParams } = new URL(String(input))
      asked.push(`${init?.method} ${pathname}`)
      if (pathname.endsWith("/stat")) return json({ type: "file", mode: "0600" })
      if (pathname.endsWith("/archive")) {
        await upload(init?.body as ReadableStream<Uint8Array>)
        return json({ path: "/workspace", entries: 1, bytes: 1 })
      }
      if (!pathname.endsWith("/content")) return json({ sandbox: { id: "sbx_1" } })
      const offset = Number(searchParams.get("cursor") ?? searchParams.get("offset") ?? 0)
      const next = Math.min(size, offset + 8 * mebibyte)
      return new Response(new Uint8Array(next - offset), {
        headers: {
          "x-service-file-size": String(size),
          "x-service-eof": String(next === size),
          "x-service-next-cursor": String(next)
        }
      })
    }
  })
  return { sandbox: await atoll.sandboxes.get("sbx_1"), asked }
}

describe("what is in memory of a large file", () => {
  plainly("is one piece of what is written: the source is asked as the connection takes it", async () => {
    let taken = 0
    const { sandbox } = await pretended(0, async (body) => {
      const reader = body.getReader()
      // What was looked at to see that it is large, and the header.
      const begun = taken
      for (let read = 0; read < begun + 20; read++) {
        await reader.read()
        assert.isAtMost(taken, Math.max(begun, read + 1))
      }
      await reader.cancel()
    })
    let isReturned = false
    const source = async function* () {
      try {
        yield* pieces(1000, mebibyte, () => taken++)
      } finally {
        isReturned = true
      }
    }
    await sandbox.files.write("large", source(), { size: 1000 * mebibyte })
    assert.isAtMost(taken, 30)
    assert.isTrue(isReturned, "the producer learns that no more is wanted")
  })

  plainly("is one piece of what is read: it is asked for when it is wanted", async () => {
    const { sandbox, asked } = await pretended(1000 * mebibyte, async () => {})
    const reader = sandbox.files.readStream("large", { from: 5 }).getReader()
    const reads = () => asked.filter((request) => request.endsWith("/content")).length
    assert.strictEqual(reads(), 0)
    await reader.read()
    await reader.read()
    assert.strictEqual(reads(), 2)
    await reader.cancel()
    assert.strictEqual(reads(), 2)
  })
})

describe.skipIf(skipped(unusable))("large files of the TypeScript library", () => {
  layer(ServedAtoll.layer(freshDriver(environment), environment).pipe(Layer.provideMerge(TestDatabase.layer)), {
    excludeTestServices: true
  })((it) => {
    it.effect("are written from streams and blobs and read as streams, over connections that are cut", () =>
      Effect.gen(function* () {
        const served = yield* ServedAtoll
        const proxy = yield* cuttingProxy(20261122)
        proxy.to = served.port
        const atoll = new Atoll({ apiKey: served.key, url: `http://127.0.0.1:${proxy.port}` })
        yield* Effect.promise(async () => {
          await using sandbox = await atoll.sandboxes.create()
          const { files } = sandbox
          const sum = async (path: string) => (await sandbox.run(["sha256sum", path])).stdout.slice(0, 64)

          const count = 64
          const wanted = await digest(pieces(count, mebibyte))
          await sandbox.run(["sh", "-c", "mkdir deep && echo old > deep/stream && chmod 750 deep/stream"])
          const size = count * mebibyte
          // A longer name than one header has room for, some of it not ASCII.
          const long = `deep/${"ä".repeat(100)}`
          await files.write("deep/stream", Readable.from(pieces(count, mebibyte)), { size })
          assert.strictEqual(await sum("deep/stream"), wanted)
          assert.strictEqual((await files.stat("deep/stream")).mode, "0750", "as it was")
          const blob = new Blob(Array.from({ length: 9 }, (_, at) => new Uint8Array(mebibyte).fill(at)))
          await files.write(long, blob)
          assert.strictEqual(await sum(long), await digest(pieces(9, mebibyte)))
          assert.strictEqual((await files.stat(long)).mode, "0644")
          await files.write("small", Readable.from([new Uint8Array([104]), new Uint8Array([105])]))
          assert.strictEqual(await files.read("small"), "hi")

          const oversized = await failed(files.write("small", pieces(9, mebibyte), { size: 9 * mebibyte - 1 }))
          assert.match(
            String(oversized),
            /The content should have 9437183 bytes, and has more\. The file is as it was\./
          )
          const short = await failed(files.write("small", pieces(9, mebibyte), { size: 9 * mebibyte + 1 }))
          assert.match(String(short), /should have 9437185 bytes, and has 9437184\./)
          assert.instanceOf(await failed(files.write("small", pieces(9, mebibyte))), TypeError)
          const broken = new Error("The disk is gone.")
          const source = async function* () {
            yield* pieces(10, mebibyte)
            throw broken
          }
          assert.strictEqual(await failed(files.write("small", source(), { size })), broken)
          const nowhere = await failed(files.write("not/there", blob))
          assert.isTrue(nowhere instanceof AtollError && nowhere.is("NOT_FOUND"), String(nowhere))
          assert.strictEqual(await files.read("small"), "hi", "none of them wrote anything")

          // Each piece of 8 MiB may need more than one connection.
          proxy.cutWithin = 24 * mebibyte
          proxy.cutAll()
          assert.strictEqual(await digest(files.readStream("deep/stream")), wanted)
          assert.isAbove(proxy.cuts(), 1)
          proxy.cutWithin = 4 * mebibyte
          proxy.cutAll()
          const lost = await failed(files.write("small", pieces(count, mebibyte), { size }))
          assert.isTrue(lost instanceof ConnectionError && lost.outcome === "unknown", String(lost))
          proxy.cutWithin = null
          proxy.cutAll()
          assert.strictEqual(await files.read("small"), "hi", "the old content or the new, and this was not all")

          const reader = files.readStream("deep/stream").getReader()
          await reader.read()
          await files.write("deep/stream", randomBytes(10))
          const changed = await failed(reader.read())
          assert.isTrue(changed instanceof AtollError && changed.is("CURSOR_STALE"), String(changed))
          const { signal, reason } = { signal: AbortSignal.abort(broken), reason: broken }
          assert.strictEqual(await failed(digest(files.readStream("small", { signal }))), reason)
          assert.strictEqual(await failed(files.write("small", blob, { signal })), reason)
        })
      })
    )
  })
})
