import { statfsSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { diskObstacle, owedBytes } from "../../../../src/host/linux/diskRoom.ts"

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

  it("keeps a reserve free", async () => {
    expect(await ask({ reserveBytes: 4 * free })).toContain("kept for the host")
    expect(await ask({})).toBeNull()
  })
})
