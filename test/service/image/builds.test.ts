/** Images of Dockerfiles over HTTP: a build's Sandbox, its output, its refusals, and what is left of it. */
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { request } from "node:http"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { publicText } from "../../../schemas/PublicText.ts"
import { RuntimeUnavailable } from "../../../src/runtime/Runtime.ts"
import { isOverAFleet } from "../../support/fleet/isOverAFleet.ts"
import { TestApi } from "../../support/http/TestApi.ts"
import { type ImageTenant, imageTenant } from "../../support/image/ImageTenant.ts"
import { untilFound } from "../../support/until.ts"

const withTenant = <A>(test: (tenant: ImageTenant, api: TestApi["Service"]) => Promise<A>) =>
  Effect.flatMap(TestApi, (api) => Effect.promise(async () => test(await imageTenant(api), api)))

const tar = { "content-type": "application/x-tar" }

const building =
  ({ send }: ImageTenant) =>
  (context: string, key: string = randomUUID(), query = "") =>
    send("POST", `/images/build${query}`, { body: Buffer.from(context), headers: { ...tar, "idempotency-key": key } })

const textOf = ({ json }: { readonly json: { readonly data: string } }) => Buffer.from(json.data, "base64").toString()

describe.skipIf(isOverAFleet)("an image of a Dockerfile", () => {
  layer(TestApi.layer({ ATOLL_BUILD_SECONDS_MAX: "5", ATOLL_IMAGES_PER_ACCOUNT: "30" }), { excludeTestServices: true })(
    (it) => {
      it.effect("is building in a Sandbox of the account, then ready; its output stays when the Sandbox is gone", () =>
        withTenant(async (tenant, api) => {
          const { send, pull, untilIs, create } = tenant
          const gate = Promise.withResolvers<void>()
          api.world.intercept = (call) => (call === "receiveImage" ? Effect.promise(() => gate.promise) : Effect.void)
          const { status, json } = await pull({ name: "tools", dockerfile: "FROM scratch", target: "last" })
          assert.strictEqual(status, 202)
          const { id, build } = json.image
          assert.deepInclude(json.image, { status: "building", reference: null, digest: null })
          assert.deepInclude(build, { dockerfile: null, target: "last" })
          const { sandbox } = (await send("GET", `/sandboxes/${build.sandboxId}`)).json
          assert.deepInclude(sandbox, {
            name: "build of tools",
            buildsImageId: id,
            networkEnabled: true,
            imageId: null
          })
          await untilIs("sandboxes", build.sandboxId, "running")
          assert.isTrue(api.world.machines.get(build.sandboxId)!.spec.builder)
          assert.deepStrictEqual((await send("GET", "/images?status=building")).json.images.length, 1)
          gate.resolve()
          const ready = await untilIs("images", id, "ready")
          api.world.intercept = () => Effect.void
          assert.match(ready.build.operationId, /^op_/)
          await untilIs("sandboxes", build.sandboxId, "deleted")
          const output = await send("GET", `/images/${id}/build/output?stream=stdout&offset=0`)
          assert.deepInclude(output.json, { stream: "stdout", eof: true })
          const own = `/sandboxes/${build.sandboxId}/operations/${ready.build.operationId}/output?stream=stdout&offset=0`
          assert.deepStrictEqual((await send("GET", own)).json, output.json)
          const log = (await send("GET", `/images/${id}/transitions`)).json.transitions
          assert.deepStrictEqual(
            log.map(({ event, to }: { event: { type: string }; to: string }) => `${event.type} ${to}`),
            ["CREATED pulling", "BUILD building", "BUILD_BEGUN building", "BUILT pulling", "PULLED ready"]
          )
          await untilIs("sandboxes", (await create({ imageId: id })).json.sandbox.id, "running")
        })
      )

      it.effect("fails with the exit code, the time limit or the end of its Sandbox, and its output tells why", () =>
        withTenant(async ({ send, pull, untilIs }) => {
          const failed = (await pull({ dockerfile: "RUN exit 127" })).json.image
          const { statusReason } = await untilIs("images", failed.id, "failed")
          assert.deepStrictEqual(statusReason, {
            code: "IMAGE_BUILD_FAILED",
            message: "The build ended with exit code 127; its output tells why."
          })
          const output = await send("GET", `/images/${failed.id}/build/output?stream=stdout&offset=0`)
          assert.strictEqual(textOf(output), "STEP 1/1: RUN exit 127\n")
          const told = await send("GET", `/images/${failed.id}/build/output/stream`)
          assert.include(told.text, "event: operation")
          await untilIs("sandboxes", failed.build.sandboxId, "deleted")

          const endless = (await pull({ dockerfile: "RUN hang" })).json.image
          const late = await untilIs("images", endless.id, "failed")
          assert.deepInclude(late.statusReason, { code: "IMAGE_BUILD_FAILED" })
          assert.include(late.statusReason.message, "5 s")

          const stopped = (await pull({ dockerfile: "RUN hang" })).json.image
          await untilFound(async () => (await send("GET", `/images/${stopped.id}`)).json.image.build.operationId)
          await send("DELETE", `/sandboxes/${stopped.build.sandboxId}`)
          assert.deepInclude((await untilIs("images", stopped.id, "failed")).statusReason, {
            code: "IMAGE_BUILD_FAILED"
          })
        })
      )

      it.effect("is deleted while it is built, and its Sandbox with it", () =>
        withTenant(async ({ send, pull, untilIs }) => {
          const { id, build } = (await pull({ dockerfile: "RUN hang" })).json.image
          assert.strictEqual((await send("DELETE", `/images/${id}`)).status, 204)
          assert.strictEqual((await send("GET", `/images/${id}`)).json.image.status, "deleted")
          await untilIs("sandboxes", build.sandboxId, "deleted")
        })
      )

      it.effect("is one for a repeated key; its request is refused with the field that is wrong", () =>
        withTenant(async ({ send, pull }) => {
          const body = { dockerfile: "RUN true", buildArgs: { VERSION: "1" } }
          const [one, other] = await Promise.all([pull(body, "a key"), pull(body, "a key")])
          assert.strictEqual(one.json.image.id, other.json.image.id)
          await untilFound(
            async () =>
              (await send("GET", "/sandboxes")).json.sandboxes.filter(
                (it: { status: string }) => it.status !== "deleted"
              ).length <= 1
          )
          assert.strictEqual((await pull({ ...body, target: "x" }, "a key")).json.code, "IDEMPOTENCY_CONFLICT")
          const paths = await Promise.all(
            [
              {},
              { reference: "registry.test/team/tools:1", dockerfile: "RUN true" },
              { reference: "registry.test/team/tools:1", target: "x" },
              { dockerfile: "RUN true", username: "robot", password: "word" },
              { dockerfile: "RUN true", target: "--x" },
              { dockerfile: "x".repeat(65 * 1024) }
            ].map(async (wrong) => {
              const { status, json } = await pull(wrong)
              return `${status} ${json.details.issues[0].path.join(".")}`
            })
          )
          assert.deepStrictEqual(paths, [
            "400 reference",
            "400 dockerfile",
            "400 target",
            "400 registry",
            "400 target",
            "400 dockerfile"
          ])
          assert.strictEqual((await pull({ dockerfile: "RUN true", workspaceId: "wsp_none" })).status, 404)
          const snapshot = `snp_${"0".repeat(26)}`
          assert.strictEqual((await pull({ dockerfile: "RUN true", contextSnapshotId: snapshot })).status, 404)
        })
      )

      it.effect("has its context in its Sandbox before it exists; one that breaks off leaves nothing", () =>
        withTenant(async (tenant, api) => {
          const { send, untilIs, key } = tenant
          const build = building(tenant)
          const [one, beside] = await Promise.all([build("RUN echo hello", "k"), build("RUN echo hello", "k")])
          const again = await build("RUN echo hello", "k")
          assert.deepStrictEqual([one.status, beside.status], [202, 202])
          assert.deepStrictEqual([again.json.image.id, beside.json.image.id], [one.json.image.id, one.json.image.id])
          assert.deepInclude(one.json.image.build, { dockerfile: "Dockerfile" })
          assert.strictEqual((await build("RUN echo other", "k")).json.code, "IDEMPOTENCY_CONFLICT")
          await untilIs("images", one.json.image.id, "ready")
          const absent = await build("RUN true", randomUUID(), "?dockerfile=other/name")
          assert.deepStrictEqual([absent.status, absent.json.details.issues[0].path], [400, ["dockerfile"]])
          const headers = { authorization: `Bearer ${key}`, ...tar }
          const sent = request({
            port: api.port,
            host: "127.0.0.1",
            method: "POST",
            path: "/api/v2/images/build",
            headers
          })
          sent.on("error", () => {})
          sent.write(Buffer.alloc(1000))
          await once(sent, "socket")
          await untilFound(async () => (await send("GET", "/sandboxes?status=running")).json.sandboxes.length > 0)
          sent.destroy()
          await untilFound(async () =>
            (await send("GET", "/sandboxes")).json.sandboxes.every((it: { status: string }) => it.status === "deleted")
          )
          assert.strictEqual((await send("GET", "/images")).json.images.length, 1)
        })
      )

      it.effect("is refused with a sentence where no host builds, and goes on when a host falls silent", () =>
        withTenant(async ({ pull, untilIs }, api) => {
          api.world.buildObstacle = publicText`No builds here.`
          const refused = await pull({ dockerfile: "RUN true" })
          assert.deepStrictEqual([refused.status, refused.json.message], [501, "No builds here."])
          api.world.buildObstacle = null
          let failures = 2
          api.world.intercept = (call) =>
            call === "receiveImage" && failures-- > 0
              ? Effect.fail(new RuntimeUnavailable({ message: "no answer" }))
              : Effect.void
          await untilIs("images", (await pull({ dockerfile: "RUN true" })).json.image.id, "ready")
          api.world.intercept = () => Effect.void
        })
      )

      it.effect("keeps the password for the registry of its base images sealed", () =>
        withTenant(async ({ send, pull, untilIs }, api) => {
          const secret = `secret-${randomUUID()}`
          const login = { registry: "registry.test", username: "robot", password: secret }
          const asked = { dockerfile: "RUN hang", ...login }
          const { id, build } = (await pull(asked)).json.image
          await untilFound(async () => (await send("GET", `/images/${id}`)).json.image.build.operationId)
          const { processes } = await untilFound(async () => {
            const machine = api.world.machines.get(build.sandboxId)
            return machine !== undefined && machine.processes.size > 0 ? machine : null
          })
          const [process] = processes.values()
          assert.notInclude(process!.spec.argv.join(" "), "robot")
          assert.include(Object.values(process!.spec.env).join(" "), Buffer.from(`robot:${secret}`).toString("base64"))
          const own = `/sandboxes/${build.sandboxId}/operations`
          for (const path of [`/images/${id}`, `/images/${id}/transitions`, "/images", own]) {
            assert.notInclude((await send("GET", path)).text, secret)
          }
          await send("DELETE", `/images/${id}`)
          await untilIs("sandboxes", build.sandboxId, "deleted")
        })
      )
    }
  )
})
