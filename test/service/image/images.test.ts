/** Images over HTTP: their life, what they give to Sandboxes, what keeps them, and that passwords stay secret. */
import { randomUUID } from "node:crypto"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { RuntimeUnavailable } from "../../../src/runtime/Runtime.ts"
import { isOverAFleet } from "../../support/fleet/isOverAFleet.ts"
import { TestApi } from "../../support/http/TestApi.ts"
import { type ImageTenant, imageTenant } from "../../support/image/ImageTenant.ts"

const withTenant = <A>(test: (tenant: ImageTenant, api: TestApi["Service"]) => Promise<A>) =>
  Effect.flatMap(TestApi, (api) => Effect.promise(async () => test(await imageTenant(api), api)))

const tools = "registry.test/team/tools:1"

describe.skipIf(isOverAFleet)("an image", () => {
  layer(TestApi.layer({ ATOLL_IMAGES_PER_ACCOUNT: "3" }), { excludeTestServices: true })((it) => {
    it.effect("is pulling, ready, and deleted; its log tells each step", () =>
      withTenant(async ({ send, pull, untilIs }, api) => {
        const { status, json } = await pull({ name: "tools", reference: tools })
        assert.strictEqual(status, 202)
        const { image } = json
        assert.match(image.id, /^img_[0-9a-z]{26}$/)
        assert.deepInclude(image, { name: "tools", reference: tools, status: "pulling", digest: null, sizeBytes: null })
        const ready = await untilIs("images", image.id, "ready")
        assert.match(ready.digest, /^sha256:[0-9a-f]{64}$/)
        assert.deepInclude(ready, { sizeBytes: 8 * 1024 ** 2, storedBytes: 4 * 1024 ** 2, statusReason: null })
        assert.isTrue(api.world.images.has(ready.digest))
        const named = await send("GET", "/images?name=tools&status=ready")
        assert.deepStrictEqual(named.json.images, [ready])
        assert.deepStrictEqual((await send("GET", "/images?name=other")).json.images, [])
        for (let repeat = 0; repeat < 2; repeat++) {
          assert.strictEqual((await send("DELETE", `/images/${image.id}`)).status, 204)
        }
        assert.isFalse(api.world.images.has(ready.digest))
        const log = (await send("GET", `/images/${image.id}/transitions`)).json.transitions
        assert.deepStrictEqual(
          log.map(({ event, to }: { event: { type: string }; to: string }) => `${event.type} ${to}`),
          ["CREATED pulling", "PULLED ready", "DELETE deleting", "IMAGE_REMOVED deleted"]
        )
      })
    )

    it.effect("fails with the host's reason, is pulled again after a silence, and is limited in number", () =>
      withTenant(async ({ pull, untilIs }, api) => {
        const missing = (await pull({ reference: "registry.test/missing:1" })).json.image
        assert.deepInclude((await untilIs("images", missing.id, "failed")).statusReason, { code: "IMAGE_NOT_FOUND" })
        let failures = 2
        api.world.intercept = (call) =>
          call === "pullImage" && failures-- > 0
            ? Effect.fail(new RuntimeUnavailable({ message: "no answer" }))
            : Effect.void
        const silent = (await pull({ reference: tools })).json.image
        await untilIs("images", silent.id, "ready")
        api.world.intercept = () => Effect.void
        assert.strictEqual((await pull({ reference: tools })).status, 202)
        const refused = await pull({ reference: tools })
        assert.deepStrictEqual(
          [refused.status, refused.json.code, refused.json.details],
          [429, "IMAGE_LIMIT_REACHED", { limit: 3 }]
        )
      })
    )

    it.effect("is one for a repeated key, and another tenant's is 404", () =>
      withTenant(async ({ pull, untilIs }, api) => {
        const key = randomUUID()
        const [first, again] = [await pull({ reference: tools }, key), await pull({ reference: tools }, key)]
        assert.deepStrictEqual([again.status, again.json.image.id], [202, first.json.image.id])
        assert.strictEqual((await pull({ reference: "registry.test/other" }, key)).json.code, "IDEMPOTENCY_CONFLICT")
        const { id } = await untilIs("images", first.json.image.id, "ready")
        const stranger = await imageTenant(api)
        for (const [method, path] of [
          ["GET", `/images/${id}`],
          ["DELETE", `/images/${id}`],
          ["GET", `/images/${id}/transitions`]
        ] as const) {
          assert.strictEqual((await stranger.send(method, path)).status, 404)
        }
        assert.strictEqual((await stranger.create({ imageId: id })).status, 404)
      })
    )

    it.effect("refuses references without a registry, with a scheme, a user or strange characters", () =>
      withTenant(async ({ pull }) => {
        for (const reference of [
          "alpine",
          "library/alpine:3.22",
          "https://registry.test/tools",
          "user:word@registry.test/tools",
          "registry.test/Tools",
          "registry.test/../tools",
          "registry.test/tools:",
          "registry.test/tools@sha256:abc",
          "registry.test:123456/tools",
          `registry.test/${"a".repeat(600)}`
        ]) {
          const { status, json } = await pull({ reference })
          assert.deepStrictEqual([status, json.details?.issues[0].path], [400, ["reference"]], reference)
        }
        const half = await pull({ reference: tools, username: "robot" })
        assert.deepStrictEqual([half.status, half.json.details.issues[0].path], [400, ["password"]])
      })
    )

    it.effect("is the root of its Sandboxes and of those of their snapshots, and stays while they need it", () =>
      withTenant(async ({ pull, send, untilIs, create }, api) => {
        const { id, digest } = await untilIs("images", (await pull({ reference: tools })).json.image.id, "ready")
        const both = await create({ imageId: id, snapshotId: "snp_06a1b2c3d4e5f6g7h8j9kamnpq" })
        assert.deepStrictEqual([both.status, both.json.details.issues[0].path], [400, ["imageId"]])
        const { sandbox } = (await create({ imageId: id, env: { PATH: "/own" } })).json
        assert.deepStrictEqual([sandbox.imageId, sandbox.envNames], [id, ["IMAGE_REFERENCE", "PATH"]])
        await untilIs("sandboxes", sandbox.id, "running")
        assert.deepInclude(api.world.machines.get(sandbox.id)!.spec.image, { reference: tools, digest })
        const shown = await send("POST", `/sandboxes/${sandbox.id}/execute`, {
          body: { argv: ["env", "PATH", "IMAGE_REFERENCE"] }
        })
        assert.include(shown.text, "/own")
        assert.include(shown.text, tools)
        const { snapshot } = (await send("POST", `/sandboxes/${sandbox.id}/snapshots`)).json
        assert.strictEqual(snapshot.imageId, id)
        await untilIs("snapshots", snapshot.id, "ready")
        const used = await send("DELETE", `/images/${id}`)
        assert.deepStrictEqual(
          [used.status, used.json.code, used.json.details],
          [409, "IMAGE_IN_USE", { sandboxes: 1, snapshots: 1 }]
        )
        const child = (await create({ snapshotId: snapshot.id })).json.sandbox
        assert.strictEqual(child.imageId, id)
        await untilIs("sandboxes", child.id, "running")
        assert.strictEqual(api.world.machines.get(child.id)!.spec.image?.digest, digest)
        for (const path of [`/sandboxes/${sandbox.id}`, `/sandboxes/${child.id}`, `/snapshots/${snapshot.id}`]) {
          assert.strictEqual((await send("DELETE", path)).status, 204)
        }
        assert.strictEqual((await send("DELETE", `/images/${id}`)).status, 204)
        const late = await create({ imageId: id })
        assert.deepStrictEqual(
          [late.status, late.json.code, late.json.details],
          [409, "IMAGE_NOT_READY", { status: "deleted" }]
        )
      })
    )

    it.effect("is removed from the host when the last account that has the digest deletes it", () =>
      withTenant(async ({ pull, send, untilIs }, api) => {
        const other = await imageTenant(api)
        const reference = "registry.test/shared:1"
        const mine = await untilIs("images", (await pull({ reference })).json.image.id, "ready")
        const theirs = await other.untilIs("images", (await other.pull({ reference })).json.image.id, "ready")
        assert.strictEqual(mine.digest, theirs.digest)
        await send("DELETE", `/images/${mine.id}`)
        assert.isTrue(api.world.images.has(mine.digest))
        await other.send("DELETE", `/images/${theirs.id}`)
        assert.isFalse(api.world.images.has(mine.digest))
      })
    )

    it.effect("keeps the registry's password sealed: hosts get it, and nothing else shows it", () =>
      withTenant(async ({ pull, send, untilIs, create }, api) => {
        const password = `hidden-${randomUUID()}`
        const asked = { reference: "registry.test/private:1", username: "robot", password }
        const answers = [await pull(asked)]
        const { id } = await untilIs("images", answers[0]!.json.image.id, "ready")
        const sandboxId = (await create({ imageId: id })).json.sandbox.id
        await untilIs("sandboxes", sandboxId, "running")
        const credentials: { username: string; password: Redacted.Redacted<string> } | null =
          api.world.machines.get(sandboxId)!.spec.image!.credentials
        assert.deepStrictEqual(
          [credentials?.username, credentials && Redacted.value(credentials.password)],
          ["robot", password]
        )
        await api.auditWritten()
        for (const path of [
          `/images/${id}`,
          "/images",
          `/images/${id}/transitions`,
          "/audit",
          `/sandboxes/${sandboxId}`
        ]) {
          answers.push(await send("GET", path))
        }
        for (const { text } of answers) assert.notInclude(text, password)
      })
    )
  })
})
