/** Whole directories with the TypeScript library and the real service, also over a proxy that cuts its connections. */
import { randomBytes } from "node:crypto"
import fs from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Atoll, AtollError, ConnectionError, type SandboxHandle } from "../../../../clients/typescript/src/index.ts"
import { cuttingProxy } from "../../../support/clients/CuttingProxy.ts"
import { entry, tape, treeOf } from "../../../support/files/Tape.ts"
import { freshDriver, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { ServedAtoll } from "../../../support/ServedAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { testFolder } from "../../../support/testFolder.ts"

const small = { ATOLL_VOLUME_BYTES: String(128 * 1024 ** 2) }
const MiB = 1024 ** 2

/** What the call fails with. */
const failed = async (call: Promise<unknown>): Promise<unknown> => {
  try {
    await call
  } catch (thrown) {
    return thrown
  }
  throw new Error("It did not fail.")
}

/** In a folder of its own, with a new Sandbox. */
const inFolder = (
  use: (at: {
    readonly folder: string
    readonly sandbox: SandboxHandle
    readonly port: number
    readonly key: string
  }) => Promise<void>
) =>
  Effect.gen(function* () {
    const { port, key } = yield* ServedAtoll
    const folder = yield* testFolder
    yield* Effect.promise(async () => {
      await using sandbox = await new Atoll({ apiKey: key, url: `http://127.0.0.1:${port}` }).sandboxes.create()
      await use({ folder, sandbox, port, key })
    })
  })

const fill = (folder: string, age: string) => {
  for (let index = 0; index < 200; index++) {
    const at = join(folder, `d${index % 10}`)
    fs.mkdirSync(at, { recursive: true })
    fs.writeFileSync(join(at, `f${index}`), `${age} ${index}`.repeat(1 + (index % 7) * 100))
  }
  fs.writeFileSync(join(folder, "large"), randomBytes(3 * MiB))
  fs.writeFileSync(join(folder, "ünïcödé 😀"), age, { mode: 0o750 })
  fs.mkdirSync(join(folder, "empty"))
  fs.symlinkSync("d1/f1", join(folder, "link"))
  fs.linkSync(join(folder, "d1/f1"), join(folder, "d2/second"))
}

describe.skipIf(skipped(unusable))("directories", () => {
  layer(ServedAtoll.layer(freshDriver(small), small).pipe(Layer.provideMerge(TestDatabase.layer)), {
    excludeTestServices: true
  })((it) => {
    it.effect("go into a Sandbox and come back as they were, told while they do", () =>
      inFolder(async ({ folder, sandbox: { files } }) => {
        const from = join(folder, "from")
        fs.mkdirSync(from)
        fill(from, "content")
        const told: Array<{ readonly entries: number; readonly bytes: number }> = []
        const sent = await files.uploadDirectory(from, "made/here", { onProgress: (progress) => told.push(progress) })
        assert.deepStrictEqual(sent.leftOut, [])
        assert.deepInclude(told.at(-1)!, { entries: sent.entries, bytes: sent.bytes })
        assert.strictEqual(sent.entries, treeOf(from).length)
        const back = join(folder, "back")
        const received = await files.downloadDirectory("/workspace/made/here", back, {
          filter: (path) => path !== "large"
        })
        assert.strictEqual(received.entries, sent.entries - 1)
        await files.downloadDirectory("made/here", back)
        assert.deepStrictEqual(treeOf(back), treeOf(from))
        assert.isTrue((await failed(files.downloadDirectory("none", back))) instanceof AtollError)
        assert.instanceOf(await failed(files.uploadDirectory(join(from, "large"), "x")), TypeError)
        const boom = new Error("of the caller")
        const filter = () => {
          throw boom
        }
        assert.strictEqual(await failed(files.uploadDirectory(from, "x", { filter })), boom)
        assert.strictEqual(await failed(files.downloadDirectory("made", back, { filter })), boom)
        const ending = new AbortController()
        const onProgress = () => ending.abort(boom)
        assert.strictEqual(await failed(files.uploadDirectory(from, "x", { onProgress, signal: ending.signal })), boom)
      })
    )

    it.effect(
      "are sent whole while an earlier upload of the same directory, which is cancelled, seals what both hold",
      () =>
        inFolder(async ({ sandbox, port, key }) => {
          const { api } = new Atoll({ apiKey: key, url: `http://127.0.0.1:${port}` })
          const begunWith = (name: string) =>
            tape(
              entry({ name: "sealed", type: "5", mode: 0o555 }),
              entry({ name: "sealed/deep", type: "5", mode: 0o555 }),
              entry({ name: `sealed/deep/${name}`, mode: 0o444 }, name)
            ).subarray(0, -2 * 512)
          const rest = tape(
            entry({ name: "sealed/deep/third", mode: 0o444 }, "third"),
            entry({ name: "sealed/link", type: "2", target: "deep/third" }),
            entry({ name: "sealed/deep/fourth", type: "1", target: "sealed/deep/third" }),
            entry({ name: "sealed/deep/er", type: "5", mode: 0o555 })
          )
          /** One that sends its beginning, and then waits. */
          const upload = (name: string, signal?: AbortSignal) => {
            let controller!: ReadableStreamDefaultController<Uint8Array>
            const body = new ReadableStream<Uint8Array>({
              start: (made) => {
                controller = made
              }
            })
            controller.enqueue(begunWith(name))
            const parameters = { id: sandbox.id, path: "/workspace/into" }
            return { done: api.call("uploadArchive", { parameters, body, signal, attemptSeconds: null }), controller }
          }
          const isThere = async (path: string, mode: string) => {
            while ((await sandbox.files.stat(path).catch(() => null))?.mode !== mode) await sleep(20)
          }
          const cancelling = new AbortController()
          const first = upload("first", cancelling.signal)
          const cancelled = failed(first.done)
          await isThere("into/sealed/deep/first", "0444")
          const second = upload("second")
          await isThere("into/sealed/deep/second", "0444")
          cancelling.abort()
          await cancelled
          await isThere("into/sealed", "0555")
          await isThere("into/sealed/deep", "0555")
          second.controller.enqueue(rest)
          second.controller.close()
          assert.deepInclude(await second.done, { entries: 7 })
          const listed = await sandbox.run(["sh", "-c", "stat -c '%a %n' sealed/* sealed/deep/*; cat sealed/link"], {
            cwd: "/workspace/into"
          })
          assert.strictEqual(
            listed.stdout,
            "555 sealed/deep\n777 sealed/link\n555 sealed/deep/er\n444 sealed/deep/first\n444 sealed/deep/fourth\n444 sealed/deep/second\n444 sealed/deep/third\nthird"
          )
        })
    )

    it.effect("are refused with how far they came, in the middle of what is sent", () =>
      inFolder(async ({ folder, sandbox: { files } }) => {
        fs.mkdirSync(join(folder, "in"))
        fs.writeFileSync(join(folder, "in/a"), "a")
        await files.mkdir("in/b", { recursive: true })
        // More than the connection takes ahead.
        for (const name of ["b", "c", "d"]) fs.writeFileSync(join(folder, "in", name), Buffer.alloc(16 * MiB))
        const names = fs.readdirSync(join(folder, "in")).toSorted()
        const before = names.slice(0, names.indexOf("b"))
        const thrown = await failed(files.uploadDirectory(join(folder, "in"), "in"))
        if (!(thrown instanceof AtollError) || !thrown.is("ARCHIVE_INCOMPLETE")) throw thrown
        assert.deepInclude(thrown.details, {
          reason: "in_the_way",
          entries: before.length,
          lastPath: before.at(-1) ?? null
        })
        assert.match(thrown.message, /there already/)
      })
    )

    it.effect(
      "whose connections are cut leave every file the old or the new one, and are whole when they are sent again",
      () =>
        inFolder(async ({ folder, sandbox: { id, files }, port, key }) =>
          Effect.runPromise(
            Effect.scoped(
              Effect.gen(function* () {
                const proxy = yield* cuttingProxy(11)
                proxy.to = port
                const across = new Atoll({ apiKey: key, url: `http://127.0.0.1:${proxy.port}`, patienceSeconds: 60 })
                yield* Effect.promise(async () => {
                  const [from, old, back] = ["from", "old", "back"].map((name) => join(folder, name)) as [
                    string,
                    string,
                    string
                  ]
                  for (const [at, age] of [
                    [from, "new"],
                    [old, "old"]
                  ] as const) {
                    fs.mkdirSync(at)
                    fill(at, age)
                  }
                  await files.uploadDirectory(old, "d")
                  const { files: cut } = await across.sandboxes.get(id)
                  // Less than there is to send; and no connection is left from before.
                  proxy.cutWithin = 3 * MiB
                  proxy.cutAll()
                  for (let attempt = 0; attempt < 3; attempt++) {
                    const thrown = await failed(cut.uploadDirectory(from, "d"))
                    assert.instanceOf(thrown, ConnectionError)
                    assert.strictEqual((thrown as ConnectionError).outcome, "unknown")
                    await files.downloadDirectory("d", back)
                    for (const name of ["large", "d1/f1", "ünïcödé 😀"]) {
                      const ages = [from, old].map((at) => fs.readFileSync(join(at, name)))
                      const found = fs.readFileSync(join(back, name))
                      assert.isTrue(
                        ages.some((age) => age.equals(found)),
                        `${name} is neither the old nor the new one`
                      )
                    }
                  }
                  proxy.cutWithin = null
                  await cut.uploadDirectory(from, "d")
                  // A download starts again by itself.
                  proxy.cutWithin = 8 * MiB
                  proxy.cutAll()
                  fs.rmSync(back, { recursive: true })
                  for (const before = proxy.cuts(); proxy.cuts() === before; ) await cut.downloadDirectory("d", back)
                  assert.deepStrictEqual(treeOf(back), treeOf(from))
                })
              })
            )
          )
        )
    )
  })
})
