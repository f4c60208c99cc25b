import { randomUUID } from "node:crypto"
import { readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { deserialize, serialize } from "node:v8"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { bundle } from "../../../../src/platform/bundle/bundle.ts"
import { kept, keptFolder } from "../../../../src/platform/bundle/kept.ts"

describe("the cached build of sources", () => {
  let name = ""
  let source = ""
  let made = 0

  /** Returns the number of the build, and its sources. */
  const make = async () => ({ value: new Map([[++made, Buffer.from(source)]]), sources: [source] })
  const turn = async (makers: ReadonlyArray<string> = []) => [...(await kept(name, makers, make)).keys()][0]

  const files = () => readdirSync(keptFolder).filter((file) => file.startsWith(name))

  /** A file's change is visible from the next tick of its clock on. */
  const aged = () => sleep(150)

  beforeEach(async () => {
    made = 0
    name = `test-${randomUUID()}`
    source = join(tmpdir(), name)
    writeFileSync(source, "one")
    await aged()
  })

  afterEach(() => {
    rmSync(source, { force: true })
    for (const file of files()) rmSync(join(keptFolder, file))
  })

  it("is reused unchanged", async () => {
    assert.strictEqual(await turn(), 1)
    const again = await kept(name, [], make)
    assert.deepStrictEqual([[...again.keys()], Buffer.from(again.get(1)!).toString()], [[1], source])
    assert.strictEqual(made, 1)
    assert.deepStrictEqual(files(), [name])
  })

  it("is rebuilt when a source is replaced or gone, regardless of its times", async () => {
    assert.strictEqual(await turn(), 1)
    writeFileSync(source, "two")
    utimesSync(source, 1, 1)
    assert.strictEqual(await turn(), 2)
    await aged()
    assert.strictEqual(await turn(), 3)
    rmSync(source)
    assert.strictEqual(await turn(), 4)
    assert.strictEqual(await turn(), 4)
    writeFileSync(source, "three")
    assert.strictEqual(await turn(), 5)
  })

  it("is rebuilt when the builder changes", async () => {
    const maker = `${source}.maker`
    writeFileSync(maker, "one")
    await aged()
    try {
      assert.deepStrictEqual([await turn([maker]), await turn([maker])], [1, 1])
      writeFileSync(maker, "two")
      assert.strictEqual(await turn([maker]), 2)
    } finally {
      rmSync(maker)
    }
  })

  it("is not stored when a source changed during the build", async () => {
    const interrupted = async () => {
      const found = await make()
      writeFileSync(source, "two")
      return found
    }
    await kept(name, [], interrupted)
    assert.strictEqual(await turn(), 2)
  })

  it("is rebuilt for another checkout or another Node", async () => {
    assert.strictEqual(await turn(), 1)
    const found = deserialize(readFileSync(join(keptFolder, name)))
    writeFileSync(join(keptFolder, name), serialize({ ...found, maker: "another" }))
    assert.deepStrictEqual([await turn(), await turn()], [2, 2])
  })

  it("is rebuilt when the stored copy is broken", async () => {
    assert.strictEqual(await turn(), 1)
    writeFileSync(join(keptFolder, name), "broken")
    assert.deepStrictEqual([await turn(), await turn()], [2, 2])
  })
})

describe("a bundle", () => {
  it("is built for each of several concurrent callers, and names its sources", async () => {
    const entry = join(import.meta.dirname, "../../../../src/agent/main.ts")
    const all = await Promise.all(
      Array.from({ length: 8 }, async (_, index) => {
        await sleep(index * 10)
        return bundle({ entryPoints: [entry], bundle: true, platform: "node", format: "cjs", minify: true })
      })
    )
    assert.strictEqual(new Set(all.map(({ files }) => files[0]!.text)).size, 1)
    for (const { sources } of all) assert.include(sources, entry)
  })
})
