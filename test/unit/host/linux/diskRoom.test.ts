import { statfsSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { diskObstacle, freePoolBytes, owedBytes } from "../../../../src/host/linux/diskRoom.ts"

describe("room on a disk", () => {
  const { bavail, bsize } = statfsSync("/")
  const free = bavail * bsize
  const ask = (change: Partial<Parameters<typeof diskObstacle>[0]>) =>
    diskObstacle({ folder: "/", held: [], wanted: [], reserveBytes: 0, ...change })

  it("counts reserved bytes as written, and written ones not twice", async () => {
    const huge = 4 * free
    expect(owedBytes([{ bytes: 10, allocatedBytes: 4 }])).toBe(6)
    // A file system's own tables may make a file larger than its reservation; that gives no room to others.
    expect(
      owedBytes([
        { bytes: 10, allocatedBytes: 12 },
        { bytes: 5, allocatedBytes: 0 }
      ])
    ).toBe(5)
    expect(await ask({ wanted: [{ bytes: huge, allocatedBytes: 0 }] })).toContain("delete a Sandbox")
    expect(await ask({ wanted: [{ bytes: huge, allocatedBytes: huge }] })).toBeNull()
    expect(await ask({ held: [{ bytes: huge, allocatedBytes: 0 }] })).toContain("reserved for Sandboxes")
    expect(await ask({ held: [{ bytes: huge, allocatedBytes: huge }] })).toBeNull()
  })

  it("of a pool is smaller by what files share, which each of them may come to need for itself", async () => {
    const TiB = 1024 ** 4
    const { blocks, bfree } = statfsSync("/")
    const used = (blocks - bfree) * bsize
    const own = await freePoolBytes("/", import.meta.filename, 0)
    const shared = await freePoolBytes("/", import.meta.filename, used + TiB)
    // Other programs write meanwhile.
    expect(Math.abs(own - shared - TiB)).toBeLessThan(TiB / 100)
    // The disk below has not given the file what the file system in it uses.
    expect(own).toBeLessThan(free - used + TiB / 100)
    expect(await ask({ pool: import.meta.filename, held: [{ bytes: TiB, allocatedBytes: used + TiB }] })).toContain(
      "delete a Sandbox"
    )
  })

  it("keeps a reserve free", async () => {
    expect(await ask({ reserveBytes: 4 * free })).toContain("kept for the host")
    expect(await ask({})).toBeNull()
  })
})
