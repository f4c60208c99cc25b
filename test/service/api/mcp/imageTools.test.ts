/** Builds of Dockerfiles as a model asks for them, with an official client, on simulated machines. */
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { scopes } from "../../../../schemas/Access.ts"
import { isOverAFleet } from "../../../support/fleet/isOverAFleet.ts"
import { TestApi } from "../../../support/http/TestApi.ts"
import { presentClient } from "../../../support/mcp/McpClients.ts"

describe.skipIf(isOverAFleet)("the tools of images", () => {
  layer(TestApi.layer({ ATOLL_VOLUME_BYTES: "1048576" }), { excludeTestServices: true })((it) => {
    it.effect("build a text and a snapshot's files, read a build's output on, and tell why one failed", () =>
      Effect.flatMap(TestApi, ({ newKey, port }) =>
        Effect.promise(async () => {
          const url = `http://127.0.0.1:${port}`
          const clientOf = async () => presentClient(url, (await newKey(scopes, crypto.randomUUID())).secret)
          const client = await clientOf()
          const call = async (name: string, given: Readonly<Record<string, unknown>>) => {
            const { isError, answer, text } = await client.call(name, given)
            assert.isFalse(isError, `${name}: ${text}`)
            return answer
          }
          // The account has no workspace yet.
          const asked = { dockerfile: "FROM scratch\nRUN true\n", name: "tools", idempotencyKey: "one" }
          const { image } = await call("build_image", asked)
          assert.deepInclude(image, { name: "tools", status: "ready", statusReason: null })
          assert.deepStrictEqual((await call("build_image", asked)).image, image)
          const conflict = await client.call("build_image", { ...asked, target: "last" })
          assert.deepStrictEqual([conflict.isError, conflict.answer.code], [true, "IDEMPOTENCY_CONFLICT"])

          const read = await call("build_output", { imageId: image.id })
          assert.deepStrictEqual(read.image, image)
          assert.deepInclude(read.build, { status: "completed", exitCode: 0, note: null })
          assert.strictEqual(read.build.stdout.text, "STEP 1/2: FROM scratch\nSTEP 2/2: RUN true\n")
          const { build } = await call("build_output", { imageId: image.id, maxOutputBytes: 5 })
          assert.strictEqual(build.stdout.text, "STEP ")
          assert.match(build.note, /call build_output with stdoutOffset 5\./)
          const rest = await call("build_output", { imageId: image.id, stdoutOffset: 5 })
          assert.strictEqual(rest.build.stdout.text, read.build.stdout.text.slice(5))

          const { sandbox } = await call("create_sandbox", { imageId: image.id })
          const { snapshot } = await call("create_snapshot", { sandboxId: sandbox.id })
          const ofFiles = await call("build_image", { dockerfile: "RUN true", contextSnapshotId: snapshot.id })
          assert.strictEqual(ofFiles.image.status, "ready")

          const { image: hanging } = await call("build_image", { dockerfile: "RUN hang", waitSeconds: 0 })
          assert.include(["pulling", "building"], hanging.status)
          const going = await call("build_output", { imageId: hanging.id })
          assert.strictEqual(going.image.status, "building")
          assert.strictEqual(going.build.stdout.text, "STEP 1/1: RUN hang\n")
          assert.match(going.build.note, /has not ended: call build_output with stdoutOffset 19/)

          const { image: failed } = await call("build_image", { dockerfile: "RUN exit 7" })
          assert.deepInclude(failed, { status: "failed" })
          assert.strictEqual(failed.statusReason.code, "IMAGE_BUILD_FAILED")
          assert.strictEqual((await call("build_output", { imageId: failed.id })).build.exitCode, 7)

          const stranger = await clientOf()
          const foreign = await stranger.call("build_output", { imageId: image.id })
          assert.deepStrictEqual([foreign.isError, foreign.answer.code], [true, "NOT_FOUND"])
        })
      )
    )
  })
})
