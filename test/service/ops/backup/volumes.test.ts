/** Volumes are copied from one data folder into another. */
import { execFileSync, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync
} from "node:fs"
import { open } from "node:fs/promises"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { isHeld } from "../../../../src/host/linux/holdMark.ts"
import { childrenOf } from "../../../../src/host/linux/ProcessIdentity.ts"
import { closeVolume, openVolume, type VolumePlace } from "../../../../src/host/namespace/volume.ts"
import { thawAbandoned } from "../../../../src/host/namespace/volumeHold.ts"
import { readChanges, readImage } from "../../../../src/ops/backup/image.ts"
import { RestoredVolume } from "../../../../src/ops/backup/RestoredVolume.ts"
import { readTree } from "../../../../src/ops/backup/tree.ts"
import { volumesIn } from "../../../../src/ops/backup/volumes.ts"
import { isRoot, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { testFolder } from "../../../support/testFolder.ts"
import { untilFound } from "../../../support/until.ts"

const gibibyte = 1024 ** 3
const never = new AbortController().signal

/** Through the stream that a backup writes and a restore reads. */
const copied = async (from: string, to: string, sandboxId: string): Promise<number> => {
  const [volume] = await volumesIn(from, new Set([sandboxId]))
  const restored = await RestoredVolume.make(to, volume!.about)
  let bytes = 0
  const put = async (offset: number, piece: Buffer) => {
    bytes += piece.length
    await restored.put(offset, piece)
  }
  if (volume!.form === "image") await readImage(volume!.image, put, never)
  else await readTree(volume!.folder, "volume", (piece) => put(bytes, piece))
  await restored.close()
  return bytes
}

/** A process that holds a volume still, and says so. */
const holderOf = (place: VolumePlace) => {
  const program = `import { holdVolume } from ${JSON.stringify(join(import.meta.dirname, "../../../../src/host/namespace/volumeHold.ts"))}
    await holdVolume(${JSON.stringify(place.image)}, ${JSON.stringify(place.folder)}, () => true)
    console.log("held")
    setInterval(() => {}, 1000)`
  return spawn(process.execPath, ["--input-type=module-typescript", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"]
  })
}

const IOCTL = 16

/** Whether this process freezes a volume now. */
const isFreeze = (pid: number): boolean => {
  try {
    const name = readFileSync(`/proc/${pid}/comm`, "utf8")
    if (name.startsWith("freezevolume")) return readFileSync(`/proc/${pid}/syscall`, "utf8").startsWith(`${IOCTL} `)
    return name === "fsfreeze\n"
  } catch {
    return false
  }
}

describe("volumes of a backup", () => {
  it.live("have their holes and their bytes, and 10 GiB of holes take no time and no room", () =>
    Effect.gen(function* () {
      const folder = yield* testFolder
      const [from, to] = [join(folder, "from"), join(folder, "to")]
      const of = (data: string) => join(data, "runtime/namespace/sbx_1/volume.img")
      yield* Effect.promise(async () => {
        mkdirSync(join(from, "runtime/namespace/sbx_1"), { recursive: true })
        const file = await open(of(from), "w")
        await file.truncate(10 * gibibyte)
        for (const offset of [0, 3 * gibibyte + 17, 10 * gibibyte - 5])
          await file.write(Buffer.from("hello"), 0, 5, offset)
        await file.close()
        const begun = performance.now()
        assert.isBelow(await copied(from, to, "sbx_1"), 1024 ** 2)
        assert.isBelow(performance.now() - begun, 30_000)
        const { size, blocks } = statSync(of(to))
        assert.strictEqual(size, 10 * gibibyte)
        assert.isBelow(blocks * 512, 1024 ** 2)
        const copy = await open(of(to))
        for (const offset of [0, 3 * gibibyte + 17, 10 * gibibyte - 5]) {
          assert.strictEqual((await copy.read(Buffer.alloc(5), 0, 5, offset)).buffer.toString(), "hello")
        }
        await copy.close()
      })
    })
  )

  it.live("have the changes after their first read, and no data that was removed", () =>
    Effect.gen(function* () {
      const folder = yield* testFolder
      const [image, copy] = [join(folder, "image"), join(folder, "copy")]
      yield* Effect.promise(async () => {
        const mebibyte = 1024 ** 2
        const [file, into] = [await open(image, "w+"), await open(copy, "w+")]
        for (const it of [file, into]) await it.truncate(20 * mebibyte + 5)
        const taken: Array<number> = []
        const put = async (offset: number, bytes: Buffer) => {
          taken.push(Math.floor(offset / mebibyte))
          await into.write(bytes, 0, bytes.length, offset)
        }
        const noise = randomBytes(5 * mebibyte)
        await file.write(noise, 0, noise.length, 0)
        const first = await readImage(image, put, never)
        assert.deepStrictEqual(taken.splice(0), [0, 1, 2, 3, 4])
        // A part that grows, one that changes, one that becomes zeros, one that becomes a hole, and the last bytes.
        await file.write(Buffer.from("x"), 0, 1, 10 * mebibyte + 7)
        await file.write(Buffer.from("other"), 0, 5, mebibyte + 11)
        await file.write(Buffer.alloc(mebibyte), 0, mebibyte, 2 * mebibyte)
        execFileSync("fallocate", ["--punch-hole", "--offset", `${3 * mebibyte}`, "--length", `${mebibyte}`, image])
        await file.write(Buffer.from("end"), 0, 3, 20 * mebibyte + 2)
        const second = await readChanges(image, first, put, never)
        assert.deepStrictEqual(
          taken.splice(0).toSorted((a, b) => a - b),
          [1, 2, 3, 10, 20]
        )
        assert.isTrue(readFileSync(image).equals(readFileSync(copy)))
        await readChanges(image, second, put, never)
        assert.deepStrictEqual(taken, [])
        for (const it of [file, into]) await it.close()
      })
    })
  )

  it.live("of idle machines are copied, and belong to stopped machines after the restore", () =>
    Effect.gen(function* () {
      const folder = yield* testFolder
      const [from, to] = [join(folder, "from"), join(folder, "to")]
      const of = (data: string, name: string) => join(data, "runtime/qemu/sbx_1", name)
      yield* Effect.promise(async () => {
        mkdirSync(of(from, "."), { recursive: true })
        const record = {
          ...{ sandboxId: "sbx_1", uid: null, generation: 3, vcpus: 1, memoryBytes: 1, volumeBytes: gibibyte },
          ...{ networkEnabled: false, accelerator: "tcg", uuid: "one", process: null, network: null }
        }
        writeFileSync(of(from, "volume.raw"), "on the volume")
        for (const state of ["stopped", "suspended"]) {
          writeFileSync(of(from, "record.json"), JSON.stringify({ ...record, state }))
          assert.strictEqual(await copied(from, to, "sbx_1"), 13)
          assert.strictEqual(readFileSync(of(to, "volume.raw"), "utf8"), "on the volume")
          const made = JSON.parse(readFileSync(of(to, "record.json"), "utf8"))
          assert.deepInclude(made, { state: "stopped", generation: 3, process: null })
          assert.notStrictEqual(made.uuid, "one")
        }
      })
    })
  )

  it.live("that are plain folders keep names, links and modes", () =>
    Effect.gen(function* () {
      const folder = yield* testFolder
      const [from, to] = [join(folder, "from"), join(folder, "to")]
      const of = (data: string) => join(data, "runtime/namespace/sbx_1/volume/workspace")
      yield* Effect.promise(async () => {
        mkdirSync(of(from), { recursive: true })
        writeFileSync(join(of(from), "a\nb"), "content")
        chmodSync(join(of(from), "a\nb"), 0o751)
        symlinkSync("a\nb", join(of(from), "link"))
        await copied(from, to, "sbx_1")
        assert.strictEqual(readFileSync(join(of(to), "link"), "utf8"), "content")
        assert.strictEqual(statSync(join(of(to), "link")).mode & 0o777, 0o751)
      })
    })
  )

  it.live("that are plain folders are read while they are written to, and reported as inconsistent", () =>
    Effect.gen(function* () {
      const folder = yield* testFolder
      const [from, to] = [join(folder, "from"), join(folder, "to")]
      const of = (data: string) => join(data, "runtime/namespace/sbx_1")
      yield* Effect.promise(async () => {
        mkdirSync(join(of(from), "volume/workspace"), { recursive: true })
        const file = (data: string) => join(of(data), "volume/workspace/file")
        writeFileSync(file(from), Buffer.alloc(4 * 1024 ** 2, "a"))
        const restored = await RestoredVolume.make(to, (await volumesIn(from, new Set(["sbx_1"])))[0]!.about)
        let bytes = 0
        const isAsItWas = await readTree(of(from), "volume", async (piece) => {
          // tar has filled its pipe, and still has most of the file to read.
          if (bytes === 0) truncateSync(file(from), 3 * 1024 ** 2)
          await restored.put(bytes, piece)
          bytes += piece.length
        })
        await restored.close()
        assert.isFalse(isAsItWas)
        const copy = readFileSync(file(to))
        assert.strictEqual(copy.length, 4 * 1024 ** 2)
        assert.isTrue(copy.subarray(0, 3 * 1024 ** 2).equals(Buffer.alloc(3 * 1024 ** 2, "a")))
      })
    })
  )

  it.live.skipIf(skipped(unusable ?? (isRoot ? null : "only root mounts volumes")))(
    "thaw when the process that froze them is killed, and are not unmounted before",
    () =>
      Effect.gen(function* () {
        const folder = yield* testFolder
        const place = { image: join(folder, "volume.img"), folder: join(folder, "mounted") }
        yield* Effect.addFinalizer(() => Effect.promise(() => closeVolume(place)))
        yield* Effect.promise(async () => {
          await openVolume(place, 16 * 1024 ** 2, null)
          const holder = holderOf(place)
          await Promise.race([once(holder.stdout, "data"), once(holder, "exit")])
          assert.isTrue(isHeld(place.image))
          let isWritten = false
          const writer = spawn("sh", ["-c", `echo x > ${join(place.folder, "written")}`])
          writer.once("exit", () => {
            isWritten = true
          })
          const written = once(writer, "exit")
          let isClosed = false
          const closed = closeVolume(place).then(() => {
            isClosed = true
          })
          await new Promise((resolve) => setTimeout(resolve, 300))
          assert.deepStrictEqual([isWritten, isClosed], [false, false])
          holder.kill("SIGKILL")
          await written
          await closed
          assert.isFalse(isHeld(place.image))
        })
      })
  )

  it.live.skipIf(skipped(unusable ?? (isRoot ? null : "only root mounts volumes")))(
    "thaw when that process is killed while it freezes them",
    () =>
      Effect.gen(function* () {
        const folder = yield* testFolder
        const place = { image: join(folder, "volume.img"), folder: join(folder, "mounted") }
        yield* Effect.addFinalizer(() => Effect.promise(() => closeVolume(place)))
        yield* Effect.promise(async () => {
          await openVolume(place, 64 * 1024 ** 2, null)
          // There is always something to write, so that the freeze takes a while.
          const writes = `while [ ! -e ${folder}/over ]; do head -c 8000000 /dev/zero > ${place.folder}/zeros; echo x >> ${folder}/count; done`
          const writer = spawn("sh", ["-c", writes])
          const ended = once(writer, "exit")
          const counted = () => (existsSync(join(folder, "count")) ? statSync(join(folder, "count")).size : 0)
          try {
            for (let round = 0; round < 5; round++) {
              const holder = holderOf(place)
              const below = () => childrenOf(holder.pid!).flatMap((pid) => [pid, ...childrenOf(pid)])
              await untilFound(() => below().some(isFreeze), { everyMs: 1 })
              holder.kill("SIGKILL")
              const before = counted()
              await untilFound(() => counted() > before + 2)
            }
          } finally {
            writeFileSync(join(folder, "over"), "")
            await thawAbandoned(place.image, place.folder)
            await ended
          }
        })
      })
  )
})
