/** The cases of killed.test.ts for images. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert } from "vitest"
import { type Atoll, AtollError, type ImageHandle, WaitTimeout } from "../../../../clients/typescript/src/index.ts"

interface World {
  readonly atoll: Atoll
  readonly round: string
  readonly now: () => Promise<void>
}

/** Nothing listens there: what becomes of the pull decides nothing here. */
const reference = "127.0.0.1:1/tools:1"

const gathered = async <A>(things: AsyncIterable<A>): Promise<Array<A>> => {
  const all: Array<A> = []
  for await (const thing of things) all.push(thing)
  return all
}

/** Its output is short, and no registry is asked. */
const failing = "FROM scratch\nCOPY nothing /\n"

/** Null: no host here builds. */
const orNoBuilds = (thrown: unknown): null => {
  assert.instanceOf(thrown, AtollError)
  assert.strictEqual(thrown.code, "UNSUPPORTED_BY_RUNTIME")
  return null
}

const pulled = (atoll: Atoll) => atoll.images.pull(reference, { untilReady: false })

/** The same as without a kill. */
const same =
  (call: (image: ImageHandle, world: World) => Promise<unknown>) =>
  async (world: World): Promise<void> => {
    const image = await pulled(world.atoll)
    await image.untilReady().catch((thrown: unknown) => assert.instanceOf(thrown, WaitTimeout))
    const before = await call(image, world)
    await world.now()
    assert.deepStrictEqual(await call(image, world), before)
    await image.delete()
  }

export const imageCases: Readonly<Record<string, (world: World) => Promise<void>>> = {
  "Images.pull": async ({ atoll, round, now }) => {
    const name = `pulled-${round}`
    await now()
    const made = await atoll.images.pull(reference, { name, untilReady: false })
    const all = await gathered(atoll.images.list({ name }))
    assert.deepStrictEqual(
      all.map(({ id }) => id),
      [made.id]
    )
    await made.delete()
  },
  "Images.upload": async ({ atoll, round, now }) => {
    const folder = mkdtempSync(join(tmpdir(), "atoll-killed-"))
    const file = join(folder, "image.tar")
    writeFileSync(file, "no archive")
    const name = `uploaded-${round}`
    await now()
    const made = await atoll.images.upload(file, { name, untilReady: false })
    const all = await gathered(atoll.images.list({ name }))
    assert.deepStrictEqual(
      all.map(({ id }) => id),
      [made.id]
    )
    await made.delete()
    rmSync(folder, { recursive: true })
  },
  "Images.build": async ({ atoll, round, now }) => {
    const name = `built-${round}`
    await now()
    const made = await atoll.images.build({ dockerfile: failing, name, untilReady: false }).catch(orNoBuilds)
    if (made === null) return
    const all = await gathered(atoll.images.list({ name }))
    assert.deepStrictEqual(
      all.map(({ id }) => id),
      [made.id]
    )
    await made.delete()
  },
  "Images.get": same(async ({ id }, { atoll }) => (await atoll.images.get(id)).record),
  "Images.list": same(async (image, { atoll }) =>
    (await gathered(atoll.images.list())).some(({ id }) => id === image.id)
  ),
  "Images.delete": async ({ atoll, now }) => {
    const image = await pulled(atoll)
    await now()
    await atoll.images.delete(image.id)
    assert.include(["deleting", "deleted"], (await image.refresh()).status)
  },
  "Image.refresh": same(async (image) => (await image.refresh()).record),
  "Image.untilReady": async ({ atoll, now }) => {
    const image = await pulled(atoll)
    await now()
    await image.untilReady().catch((thrown: unknown) => assert.instanceOf(thrown, WaitTimeout))
    assert.notStrictEqual(image.status, "pulling")
    await image.delete()
  },
  "Image.buildOutput": async ({ atoll, now }) => {
    const image = await atoll.images.build({ dockerfile: failing, untilReady: false }).catch(orNoBuilds)
    await now()
    if (image === null) return
    const text = Buffer.concat((await gathered(image.buildOutput())).map(({ bytes }) => bytes)).toString()
    assert.include(text, "FROM scratch")
    await image.delete()
  },
  "Image.delete": async ({ atoll, now }) => {
    const image = await pulled(atoll)
    await now()
    await image.delete()
    assert.include(["deleting", "deleted"], (await image.refresh()).status)
  },
  "Image.transitions": same(async (image) => (await gathered(image.transitions())).map(({ revision }) => revision))
}
