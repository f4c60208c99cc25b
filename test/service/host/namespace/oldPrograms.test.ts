/** Old versions of the programs in Sandboxes are removed, and never those that something may use. */
import { randomUUID } from "node:crypto"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { HostLayout } from "../../../../src/host/namespace/HostLayout.ts"
import { noteProgramsUse, removeOldPrograms, unfinishedPrograms } from "../../../../src/host/namespace/oldPrograms.ts"
import { ownPrograms } from "../../../../src/host/namespace/ownPrograms.ts"
import { isRoot, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"

const DAY_MS = 24 * 3_600_000
const ownNode = ".node-v24.0.0"

describe.skipIf(skipped(unusable) || !isRoot)("the programs in Sandboxes from images", () => {
  let parent: string
  beforeEach(() => {
    parent = mkdtempSync(join(tmpdir(), "atoll-old-programs-"))
  })
  afterEach(() => rmSync(parent, { recursive: true, force: true }))

  const aged = (path: string, days: number) => {
    const at = new Date(Date.now() - days * DAY_MS)
    utimesSync(path, at, at)
  }
  const unnoted = (digit: string) => {
    const folder = join(parent, `programs-${digit.repeat(16)}`)
    mkdirSync(folder)
    writeFileSync(join(folder, "node"), "")
    return folder
  }
  /** A version that was last used so long ago. */
  const version = async (digit: string, days: number) => {
    const folder = unnoted(digit)
    await noteProgramsUse(folder)
    aged(`${folder}.used`, days)
    return folder
  }
  const nothing = async () => new Set<string>()
  const left = () => readdirSync(parent).toSorted()

  it("go when no boot has used them for a month, with what a killed process left half made", async () => {
    const recent = await version("a", 29)
    await version("b", 31)
    const [stale, fresh] = [unfinishedPrograms(recent), unfinishedPrograms(recent)]
    for (const folder of [stale, fresh]) mkdirSync(folder)
    aged(stale, 2)
    await removeOldPrograms(parent, ownNode, nothing)
    expect(left()).toEqual([basename(recent), basename(fresh), `${basename(recent)}.used`].toSorted())
    await removeOldPrograms(parent, ownNode, nothing)
    expect(left().length).toBe(3)
  })

  it("stay, and their use is noted, while they are mounted in a Sandbox of any Atoll", async () => {
    const folder = await version("a", 400)
    await removeOldPrograms(parent, ownNode, async () => new Set(["atoll", basename(folder)]))
    expect(existsSync(join(folder, "node"))).toBe(true)
    expect(Date.now() - statSync(`${folder}.used`).mtimeMs).toBeLessThan(DAY_MS)
    // Its last use is now: an Atoll that does not see the Sandbox keeps them, too.
    await removeOldPrograms(parent, ownNode, nothing)
    expect(existsSync(folder)).toBe(true)
    aged(`${folder}.used`, 31)
    await removeOldPrograms(parent, ownNode, nothing)
    expect(left()).toEqual([])
  })

  it("go with the Node that ran their agents, but for this process's own", async () => {
    for (const name of [".node-v22.1.0", ownNode]) {
      const node = join(parent, name)
      writeFileSync(node, "")
      await noteProgramsUse(node)
      aged(`${node}.used`, 31)
    }
    const unfinished = join(parent, `.node-v22.1.0-${randomUUID()}`)
    writeFileSync(unfinished, "")
    aged(unfinished, 2)
    await removeOldPrograms(parent, ownNode, async () => new Set([".node-v22.1.0"]))
    expect(left()).toEqual([".node-v22.1.0", ".node-v22.1.0.used", ownNode, `${ownNode}.used`])
    aged(join(parent, ".node-v22.1.0.used"), 31)
    await removeOldPrograms(parent, ownNode, nothing)
    expect(left()).toEqual([ownNode, `${ownNode}.used`])
  })

  it("stay where they are the Node of an Atoll: each start notes its use, and so does each look for old ones", async () => {
    const layout = await HostLayout.prepare(parent)
    try {
      const ageMs = () => Date.now() - statSync(`${layout.node}.used`).mtimeMs
      aged(`${layout.node}.used`, 2)
      await layout.removeOldPrograms()
      expect(ageMs()).toBeLessThan(DAY_MS)
      aged(`${layout.node}.used`, 2)
      const next = await HostLayout.prepare(parent)
      await next.release(() => true, false)
      expect(ageMs()).toBeLessThan(DAY_MS)
    } finally {
      await layout.release(() => true, false)
    }
  })

  it("need no look at the mounts where this process's own Node is all there is", async () => {
    writeFileSync(join(parent, ownNode), "")
    await noteProgramsUse(join(parent, ownNode))
    await removeOldPrograms(parent, ownNode, () => Promise.reject(new Error("looked")))
    expect(left()).toEqual([ownNode, `${ownNode}.used`])
  })

  it("stay where this process may not see what is mounted", async () => {
    const folder = await version("a", 400)
    await removeOldPrograms(parent, ownNode, async () => null)
    expect(existsSync(folder)).toBe(true)
  })

  it("stay when they are from an Atoll that notes no use", async () => {
    aged(unnoted("a"), 400)
    await removeOldPrograms(parent, ownNode, nothing)
    expect(left()).toEqual(["programs-aaaaaaaaaaaaaaaa"])
  })

  it("are noted as used at each boot, and made again when they were removed", async () => {
    const folder = await ownPrograms(parent)
    aged(`${folder}.used`, 31)
    expect(await ownPrograms(parent)).toBe(folder)
    await removeOldPrograms(parent, ownNode, nothing)
    expect(existsSync(join(folder, "node"))).toBe(true)
    aged(`${folder}.used`, 31)
    await removeOldPrograms(parent, ownNode, nothing)
    expect(left()).toEqual([])
    expect(existsSync(join(await ownPrograms(parent), "node"))).toBe(true)
  })
})
