import { randomUUID } from "node:crypto"
import { readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { deserialize, serialize } from "node:v8"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { bundle } from "../../../../src/platform/bundle/bundle.ts"
import { kept, keptFolder } from "../../../../src/platform/bundle/kept.ts"

describe("what is made of sources", () => {
  let name = ""
  let source = ""
  let made = 0

  /** Says in which turn it was made, and of what. */
  const make = async () => ({ value: new Map([[++made, Buffer.from(source)]]), sources: [source] })
  const turn = async (makers: ReadonlyArray<string> = []) => [...(await kept(name, makers, make)).keys()][0]

  const files = () => readdirSync(keptFolder).filter((file) => file.startsWith(name))

  /** A file's change is seen from the next tick of its clock on. */
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

  it("is kept, as it was", async () => {
    assert.strictEqual(await turn(), 1)
    const again = await kept(name, [], make)
    assert.deepStrictEqual([[...again.keys()], Buffer.from(again.get(1)!).toString()], [[1], source])
    assert.strictEqual(made, 1)
    assert.deepStrictEqual(files(), [name])
  })

  it("is made anew when a source is another one, or gone, whatever its times say", async () => {
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

  it("is made anew when what makes it is another one", async () => {
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

  it("is not kept when a source changed meanwhile", async () => {
    const interrupted = async () => {
      const found = await make()
      writeFileSync(source, "two")
      return found
    }
    await kept(name, [], interrupted)
    assert.strictEqual(await turn(), 2)
  })

  it("is made anew where another checkout, or another Node, made it", async () => {
    assert.strictEqual(await turn(), 1)
    const found = deserialize(readFileSync(join(keptFolder, name)))
    writeFileSync(join(keptFolder, name), serialize({ ...found, maker: "another" }))
    assert.deepStrictEqual([await turn(), await turn()], [2, 2])
  })

  it("is made anew when what was kept is broken", async () => {
    assert.strictEqual(await turn(), 1)
    writeFileSync(join(keptFolder, name), "broken")
    assert.deepStrictEqual([await turn(), await turn()], [2, 2])
  })
})

describe("a bundle", () => {
  it("is made for each of several who ask shortly after one another, and names what it was made of", async () => {
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
