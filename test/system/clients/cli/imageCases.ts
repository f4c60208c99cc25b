/** The commands of images, for `killed.test.ts`. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert } from "@effect/vitest"
import { untilFound } from "../../../support/until.ts"
import { type Case, gathered, isDone, lostAndUnheard } from "./killedCase.ts"

/** Nothing listens there: what becomes of the pull decides nothing here. */
const reference = "127.0.0.1:1/tools:1"

export const imageCases: Readonly<Record<string, Case>> = {
  ...lostAndUnheard("images pull", /^POST \/api\/v2\/images[ ?]/, async ({ atoll, begin, mark, restart }, hold) => {
    const command = await begin(["images", "pull", reference, "--name", mark, "--no-wait"], hold)
    await restart()
    const id = isDone(await command.ended).trim()
    const pulled = await gathered(atoll.images.list({ name: mark }))
    assert.deepStrictEqual(
      pulled.map((image) => image.id),
      [id]
    )
    await pulled[0]!.delete()
  }),
  // No image comes of it: that decides nothing here.
  ...lostAndUnheard(
    "images load",
    /^POST \/api\/v2\/images\/upload\?/,
    async ({ atoll, begin, folder, mark, restart }, hold) => {
      const file = join(folder, "image.tar")
      writeFileSync(file, "no archive")
      const command = await begin(["images", "load", file, "--name", mark, "--no-wait"], hold)
      await restart()
      const id = isDone(await command.ended).trim()
      const loaded = await gathered(atoll.images.list({ name: mark }))
      assert.deepStrictEqual(
        loaded.map((image) => image.id),
        [id]
      )
      await loaded[0]!.delete()
    }
  ),
  // It waits for no build: what becomes of that decides nothing here.
  ...lostAndUnheard(
    "images build",
    /^POST \/api\/v2\/images\/build\?/,
    async ({ atoll, begin, folder, mark, restart }, hold) => {
      writeFileSync(join(folder, "Dockerfile"), "FROM scratch\n")
      const command = await begin(["images", "build", folder, "--name", mark, "--no-wait"], hold)
      await restart()
      const ended = await command.ended
      const built = await gathered(atoll.images.list({ name: mark }))
      if (/^atoll: .*build/m.test(ended.stderr)) {
        // This machine cannot build.
        assert.deepStrictEqual([ended.code, built.length], [1, 0], ended.stderr)
        return
      }
      const id = isDone(ended).trim()
      assert.deepStrictEqual(
        built.map((image) => image.id),
        [id]
      )
      await built[0]!.delete()
      const left = async () =>
        (await gathered(atoll.sandboxes.list())).filter(({ record }) => record.buildsImageId !== null)
      await untilFound(async () => (await left()).every(({ status }) => status === "deleted"))
    }
  ),
  "images list": async ({ atoll, begin, mark, restart }) => {
    const image = await atoll.images.pull(reference, { name: mark, untilReady: false })
    const command = await begin(["images", "list", "-q"], { line: /^GET \/api\/v2\/images\?/ })
    await restart()
    assert.include(isDone(await command.ended).split("\n"), image.id)
    await image.delete()
  },
  "images show": async ({ atoll, begin, mark, restart }) => {
    const image = await atoll.images.pull(reference, { name: mark, untilReady: false })
    const command = await begin(["images", "show", image.id, "--json"], { line: /^GET \/api\/v2\/images\/img_/ })
    await restart()
    assert.include(JSON.parse(isDone(await command.ended)).image, { id: image.id, name: mark })
    await image.delete()
  },
  ...lostAndUnheard(
    "images delete",
    /^DELETE \/api\/v2\/images\/img_/,
    async ({ atoll, begin, mark, restart }, hold) => {
      const image = await atoll.images.pull(reference, { name: mark, untilReady: false })
      const command = await begin(["images", "delete", image.id], hold)
      await restart()
      assert.strictEqual(isDone(await command.ended), `${image.id} (${mark}) is deleted.\n`)
      await untilFound(async () => (await atoll.images.get(image.id)).record.status === "deleted")
    }
  )
}
