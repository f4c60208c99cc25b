/** Images of archives over HTTP: their life, the bounds of a body, and what keeps their bytes. */
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { type ClientRequest, request } from "node:http"
import { gzipSync } from "node:zlib"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { imageArchiveMediaType } from "../../../schemas/ImageUpload.ts"
import { publicText } from "../../../schemas/PublicText.ts"
import { RuntimeRefused } from "../../../src/runtime/Runtime.ts"
import { isOverAFleet } from "../../support/fleet/isOverAFleet.ts"
import { TestApi } from "../../support/http/TestApi.ts"
import { type ImageTenant, imageTenant } from "../../support/image/ImageTenant.ts"
import { untilFound } from "../../support/until.ts"

const withTenant = <A>(test: (tenant: ImageTenant, api: TestApi["Service"]) => Promise<A>) =>
  Effect.flatMap(TestApi, (api) => Effect.promise(async () => test(await imageTenant(api), api)))

const uploading =
  ({ send }: ImageTenant) =>
  (content: string, key: string = randomUUID(), query = "") =>
    send("POST", `/images/upload${query}`, {
      body: Buffer.from(content),
      headers: { "idempotency-key": key, "content-type": imageArchiveMediaType }
    })

/** A body whose beginning is sent. */
const begun = ({ port }: TestApi["Service"], { key }: ImageTenant): ClientRequest => {
  const headers = { authorization: `Bearer ${key}`, "content-type": imageArchiveMediaType }
  const sent = request({ port, host: "127.0.0.1", method: "POST", path: "/api/v2/images/upload", headers })
  sent.on("error", () => {})
  sent.write(Buffer.alloc(1000))
  return sent
}

describe.skipIf(isOverAFleet)("an uploaded image", () => {
  layer(TestApi.layer({ ATOLL_IMAGE_BYTES_MAX: "1048576", ATOLL_RECONCILE_INTERVAL_MS: "20" }), {
    excludeTestServices: true
  })((it) => {
    it.effect("is pulling, ready, the root of Sandboxes, and deleted; no registry is asked for it", () =>
      withTenant(async (tenant, api) => {
        const { send, untilIs, create } = tenant
        const { status, json } = await uploading(tenant)("an archive", randomUUID(), "?name=tools")
        assert.strictEqual(status, 202)
        const plain = { body: Buffer.from("another"), headers: { "content-type": "application/x-tar" } }
        assert.strictEqual((await send("POST", "/images/upload", plain)).status, 202)
        const packed = { body: gzipSync("another"), headers: { ...plain.headers, "content-encoding": "gzip" } }
        assert.strictEqual((await send("POST", "/images/upload", packed)).json.code, "UNSUPPORTED_MEDIA_TYPE")
        assert.deepInclude(json.image, { name: "tools", reference: null, status: "pulling", digest: null })
        const { id, digest } = await untilIs("images", json.image.id, "ready")
        const { sandbox } = (await create({ imageId: id })).json
        await untilIs("sandboxes", sandbox.id, "running")
        const spec = { reference: digest, digest, credentials: null }
        assert.deepStrictEqual(api.world.machines.get(sandbox.id)!.spec.image, spec)
        assert.strictEqual((await send("DELETE", `/images/${id}`)).json.code, "IMAGE_IN_USE")
        assert.strictEqual((await send("DELETE", `/sandboxes/${sandbox.id}`)).status, 204)
        assert.strictEqual((await send("DELETE", `/images/${id}`)).status, 204)
        await untilFound(async () => !api.world.images.has(digest))
        assert.isFalse(api.world.uploads.has(id))
      })
    )

    it.effect("fails when the host has lost it, is refused to Sandboxes, and is ready again when the host has it", () =>
      withTenant(async (tenant, api) => {
        const { untilIs, create } = tenant
        const { id, digest } = await untilIs("images", (await uploading(tenant)("lost")).json.image.id, "ready")
        api.world.images.delete(digest)
        assert.strictEqual((await untilIs("images", id, "failed")).statusReason.code, "IMAGE_LOST")
        assert.deepInclude((await create({ imageId: id })).json, {
          code: "IMAGE_NOT_READY",
          details: { status: "failed" }
        })
        api.world.images.add(digest)
        assert.isNull((await untilIs("images", id, "ready")).statusReason)
        assert.strictEqual((await create({ imageId: id })).status, 202)
      })
    )

    it.effect("is one for a repeated key and body, and 409 for another body", () =>
      withTenant(async (tenant, api) => {
        const upload = uploading(tenant)
        const key = randomUUID()
        const [first, again] = [await upload("one", key), await upload("one", key)]
        assert.deepStrictEqual([again.status, again.json.image.id], [202, first.json.image.id])
        assert.strictEqual((await upload("two", key)).json.code, "IDEMPOTENCY_CONFLICT")
        assert.strictEqual((await upload("one", key, "?name=other")).json.code, "IDEMPOTENCY_CONFLICT")
        const both = await Promise.all([upload("three", "shared key"), upload("three", "shared key")])
        assert.strictEqual(new Set(both.map(({ json }) => json.image.id)).size, 1)
        assert.strictEqual((await tenant.send("GET", "/images")).json.images.length, 2)
        assert.isTrue([...api.world.uploads.keys()].length >= 2)
      })
    )

    it.effect("leaves nothing of a body that breaks off, is too large, or is refused by the host", () =>
      withTenant(async (tenant, api) => {
        const upload = uploading(tenant)
        const before = new Set(api.world.uploads.keys())
        const sent = begun(api, tenant)
        await once(sent, "socket")
        sent.destroy()
        api.world.intercept = (call) =>
          call === "receiveImage"
            ? Effect.fail(new RuntimeRefused({ code: "IMAGE_TOO_LARGE", message: publicText`It is too large.` }))
            : Effect.void
        const large = await upload("large")
        assert.deepStrictEqual([large.status, large.json.details], [413, { limitBytes: 1048576 }])
        api.world.intercept = (call) =>
          call === "acceptImage"
            ? Effect.fail(new RuntimeRefused({ code: "IMAGE_INVALID", message: publicText`It is broken.` }))
            : Effect.void
        const { image } = (await upload("broken")).json
        const { statusReason } = await tenant.untilIs("images", image.id, "failed")
        assert.deepStrictEqual(statusReason, { code: "IMAGE_INVALID", message: "It is broken." })
        api.world.intercept = () => Effect.void
        assert.deepStrictEqual(
          [...api.world.uploads.keys()].filter((id) => !before.has(id)),
          []
        )
        assert.strictEqual((await tenant.send("GET", "/images")).json.images.length, 1)
      })
    )

    it.effect("is one of at most four at a time", () =>
      withTenant(async (tenant, api) => {
        const open = Array.from({ length: 4 }, () => begun(api, tenant))
        await untilFound(async () => (await uploading(tenant)("third")).json.code === "IMAGE_UPLOADS_REACHED")
        for (const sent of open) sent.destroy()
        await untilFound(async () => (await uploading(tenant)("third")).status === 202)
      })
    )

    it.effect("has its archive at the host until it is made, and no longer: the reconciler discards the others", () =>
      withTenant(async (tenant, api) => {
        api.world.uploads.set("img_none", { digest: `sha256:${"0".repeat(64)}`, at: 0 })
        await untilFound(async () => !api.world.uploads.has("img_none"))
        const { image } = (await uploading(tenant)("mine")).json
        await tenant.untilIs("images", image.id, "ready")
        api.world.uploads.set(image.id, { ...api.world.uploads.get(image.id)!, at: 0 })
        await untilFound(async () => !api.world.uploads.has(image.id))
        assert.strictEqual((await tenant.send("GET", `/images/${image.id}`)).json.image.status, "ready")
      })
    )
  })
})
