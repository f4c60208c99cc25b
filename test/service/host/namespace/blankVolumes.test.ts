/** Empty volume images that are made ahead: who gets one, and what becomes of unfinished and outdated ones. */
import { existsSync, readdirSync, utimesSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { BlankVolumes } from "../../../../src/host/namespace/BlankVolumes.ts"
import { inFolder } from "../../../support/host/linux/inFolder.ts"
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
