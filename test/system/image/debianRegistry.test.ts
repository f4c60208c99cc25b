/** Images from Debian's registry, which no test has made to fit. */
import { existsSync, mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Atoll, type ImageHandle } from "../../../clients/typescript/src/index.ts"
import { newSecret } from "../../../src/account/ApiKeySecret.ts"
import { missingPackages } from "../../../src/host/linux/programs.ts"
import { debianRegistry, type MediaTypes } from "../../support/host/image/DebianRegistry.ts"
import { layerOf, ociTypes } from "../../support/host/image/TestRegistry.ts"
import { isRoot, skipped, unusable } from "../../support/host/namespace/TestHost.ts"
import { serviceIn } from "../../support/ServiceIn.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { testFolder } from "../../support/testFolder.ts"

const busybox = "/bin/busybox"
const login = { username: "ada", password: newSecret() }

const types: Readonly<Record<string, MediaTypes>> = {
  oci: { manifest: ociTypes.manifest, config: ociTypes.config, layer: ociTypes.gzip },
  docker: {
    manifest: "application/vnd.docker.distribution.manifest.v2+json",
    config: "application/vnd.docker.container.image.v1+json",
    layer: "application/vnd.docker.image.rootfs.diff.tar.gzip"
  }
}

const missing =
  unusable ??
  (isRoot ? null : "images need root") ??
  (missingPackages({ mksquashfs: "squashfs-tools", "docker-registry": "docker-registry" }).length > 0
    ? "squashfs-tools and docker-registry are not both here"
    : null) ??
  (existsSync(busybox) ? null : "busybox-static is not here")

const layers = (greeting: string): ReadonlyArray<Buffer> =>
  [
    [
      { name: "bin/busybox", content: readFileSync(busybox), mode: 0o755 },
      { name: "bin/sh", type: "2" as const, target: "busybox" },
      { name: "old", content: "old" }
    ],
    [{ name: ".wh.old" }, { name: "greeting", content: greeting }]
  ].map((entries) => gzipSync(layerOf(entries), { level: 1 }))

/** Why it is not pulled. */
const refusal = async (pulled: Promise<ImageHandle>): Promise<string | undefined> => {
  const image = await pulled
  await image.untilReady().catch(() => {})
  return image.record.statusReason?.code
}

describe.skipIf(skipped(missing))("images from Debian's registry", () => {
  it.live(
    "are pulled with a password, as OCI's and as Docker's, run, and need the registry no more",
    () =>
      Effect.gen(function* () {
        const { url } = yield* TestDatabase
        const key = newSecret()
        const root = yield* testFolder
        mkdirSync(join(root, "images"))
        const registry = yield* debianRegistry(join(root, "images"), login)
        const service = yield* serviceIn(join(root, "data"), key, {
          DATABASE_URL: url,
          ATOLL_IMAGE_REGISTRIES: registry.host
        })
        const { port } = yield* service.start
        const atoll = new Atoll({ apiKey: key, url: `http://127.0.0.1:${port}` })
        const pull = (tag: string, as: object) =>
          atoll.images.pull(`${registry.host}/tools/busy:${tag}`, { ...as, untilReady: false })

        const pulled = yield* Effect.promise(() =>
          Promise.all(
            Object.entries(types).map(async ([tag, mediaTypes]) => {
              const digest = await registry.push("tools/busy", tag, mediaTypes, layers(`${tag}\n`))
              const image = await (await pull(tag, login)).untilReady()
              assert.strictEqual(image.record.digest, digest)
              return [tag, image] as const
            })
          )
        )
        yield* Effect.promise(async () => {
          assert.strictEqual(await refusal(pull("oci", {})), "IMAGE_UNAUTHORIZED")
          const wrong = { ...login, password: newSecret() }
          assert.strictEqual(await refusal(pull("oci", wrong)), "IMAGE_UNAUTHORIZED")
          assert.strictEqual(await refusal(pull("none", login)), "IMAGE_NOT_FOUND")
        })

        yield* registry.stop
        yield* Effect.promise(async () => {
          for (const [tag, image] of pulled) {
            const sandbox = await atoll.sandboxes.create({ image, networkEnabled: false })
            const { stdout } = await sandbox.run([
              "sh",
              "-c",
              "read -r line </greeting; echo $line; test -e /old || echo whited out"
            ])
            assert.strictEqual(stdout, `${tag}\nwhited out\n`)
            await sandbox.delete()
          }
        })
      }).pipe(Effect.scoped, Effect.provide(TestDatabase.bare)),
    120_000
  )
})
