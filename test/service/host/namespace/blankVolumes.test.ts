/** Empty volume images that are made ahead: who gets one, and what becomes of unfinished and outdated ones. */
import { existsSync, readdirSync, statSync, utimesSync, writeFileSync } from "node:fs"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { BlankVolumes } from "../../../../src/host/namespace/BlankVolumes.ts"
import { NamespaceHost } from "../../../../src/host/namespace/NamespaceHost.ts"
import { inFolder } from "../../../support/host/linux/inFolder.ts"
import { dataFolder, isRoot, unusable } from "../../../support/host/namespace/TestHost.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"
import { untilSeen } from "../../../support/until.ts"

const bytes = 8 * 1024 ** 2

const blanksIn = (folder: string, isBusy = () => false, extended: ReadonlyArray<string> = []) =>
  new BlankVolumes({ folder: join(folder, ".blank"), max: 3, extended, isBusy })

const made = (folder: string) => readdirSync(join(folder, ".blank")).filter((name) => !name.endsWith(".partial"))

describe("volumes that are made ahead", () => {
  it("are as many as are wanted, and each goes to one of those that take it, in all processes", () =>
    inFolder(async (folder) => {
      const blanks = [blanksIn(folder), blanksIn(folder)]
      await blanks[0]!.refill(bytes)
      expect(made(folder)).toHaveLength(3)
      const takes = Array.from({ length: 8 }, (_, index) => blanks[index % 2]!.take(bytes, join(folder, `v${index}`)))
      const taken = await Promise.all(takes)
      expect(taken.filter(Boolean)).toHaveLength(3)
      for (const [index, wasTaken] of taken.entries()) expect(existsSync(join(folder, `v${index}`))).toBe(wasTaken)
      expect(made(folder)).toEqual([])
    }))

  it("are never one that is unfinished, of another size, or made with other options", () =>
    inFolder(async (folder) => {
      const blanks = blanksIn(folder)
      await blanks.refill(bytes)
      const [first] = made(folder)
      for (const name of made(folder)) await blanks.take(bytes, join(folder, name))
      writeFileSync(join(folder, ".blank", `${first}.partial`), "")
      expect(await blanks.take(bytes, join(folder, "unfinished"))).toBe(false)
      await blanks.refill(bytes)
      expect(await blanks.take(2 * bytes, join(folder, "larger"))).toBe(false)
      expect(await blanksIn(folder, undefined, ["stride=2"]).take(bytes, join(folder, "other"))).toBe(false)
      expect(await blanks.take(bytes, join(folder, "right"))).toBe(true)
    }))

  it("are removed when another version made them, or a killed process left them, and not while one may be made", () =>
    inFolder(async (folder) => {
      const put = (name: string, ageSeconds: number) => {
        const path = join(folder, ".blank", name)
        const at = Date.now() / 1000 - ageSeconds
        writeFileSync(path, "")
        utimesSync(path, at, at)
        return path
      }
      const blanks = blanksIn(folder)
      await blanks.refill(bytes)
      const [first] = made(folder)
      for (const name of made(folder)) await blanks.take(bytes, join(folder, name))
      const [old, young] = [put(`${first}1.partial`, 120), put(`${first}2.partial`, 1)]
      const outdated = put(`00000000-${bytes}-c`, 120)
      await blanks.refill(bytes)
      expect([old, young, outdated].map(existsSync)).toEqual([false, true, false])
      expect(made(folder)).toHaveLength(3)
    }))

  it("that cannot be made leave nothing behind, and fail no boot", () =>
    inFolder(async (folder) => {
      const blanks = blanksIn(folder, undefined, ["no_such_option"])
      await blanks.refill(bytes)
      expect(readdirSync(join(folder, ".blank"))).toEqual([])
      expect(await blanks.take(bytes, join(folder, "none"))).toBe(false)
    }))

  it("are not made while Sandboxes boot, nor after the end", () =>
    inFolder(async (folder) => {
      let asked = 0
      const busy = blanksIn(folder, () => ++asked > 0)
      void busy.refill(bytes)
      await untilSeen(
        () => asked,
        (times) => times > 2,
        { withinMs: 10_000 }
      )
      expect(made(folder)).toEqual([])
      await busy.close()
      await busy.refill(bytes)
      expect(made(folder)).toEqual([])
    }))
})

describe.skipIf(unusable !== null || !isRoot)("the volume of a new Sandbox", () => {
  it("is one that was made ahead, and a next one is made", async () => {
    const folder = dataFolder()
    const run = <A, E>(effect: Effect.Effect<A, E>) => Effect.runPromise(effect)
    const host = await NamespaceHost.open({
      dataDir: folder,
      processesMax: 256,
      parallelStarts: 4,
      diskReserveBytes: 0,
      run
    })
    try {
      if (!host.layout.volumesEnforced) return
      const inodes = () => {
        const place = join(host.layout.stateFolder, ".blank")
        const names = existsSync(place) ? readdirSync(place).filter((name) => !name.endsWith(".partial")) : []
        return names.flatMap((name) => statSync(join(place, name), { throwIfNoEntry: false })?.ino ?? [])
      }
      const untilFull = () => untilSeen(inodes, (found) => found.length === 8, { withinMs: 15_000 })
      const spec = sandboxSpec("first")
      await host.prepare(spec)
      const ahead = await untilFull()
      await host.provision(spec)
      const { ino } = statSync(host.layout.volume(host.layout.state("first")).image!)
      expect(ahead.includes(ino)).toBe(true)
      expect((await untilFull()).includes(ino)).toBe(false)
      await host.destroy("first")
    } finally {
      await host.close()
      await rm(folder, { recursive: true, force: true })
    }
  })
})
