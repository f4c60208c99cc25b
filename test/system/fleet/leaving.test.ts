/** A host leaves a fleet of processes with real bytes: an image of an archive and a snapshot of its Sandbox live on at the other host. */
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { Atoll } from "../../../clients/typescript/src/index.ts"
import { newSecret } from "../../../src/account/ApiKeySecret.ts"
import { missingPackages } from "../../../src/host/linux/programs.ts"
import { atoll, documentOf } from "../../support/commandLine.ts"
import { Fleet } from "../../support/fleet/Fleet.ts"
import type { HostProcess } from "../../support/fleet/HostProcess.ts"
import { busybox, withShell } from "../../support/host/image/busyboxImage.ts"
import { layoutArchive } from "../../support/host/image/layoutArchive.ts"
import { layerOf } from "../../support/host/image/TestRegistry.ts"
import { skipped } from "../../support/host/namespace/TestHost.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { refusal } from "./refusal.ts"

const obstacle =
  refusal ??
  (missingPackages({ mksquashfs: "squashfs-tools" }).length > 0 ? "squashfs-tools is not here" : null) ??
  (existsSync(busybox) ? null : "busybox-static is not here")

const mebibyte = 1024 ** 2
const leavesWithin = "45 seconds"

/** The SHA-256 of each image there, by its name. */
const imagesOf = ({ dataDir }: HostProcess): Readonly<Record<string, string>> => {
  const folder = join(dataDir, "runtime", "namespace", ".images")
  if (!existsSync(folder)) return {}
  const names = readdirSync(folder).filter((name) => name.endsWith(".sqfs"))
  const hashOf = (name: string) =>
    createHash("sha256")
      .update(readFileSync(join(folder, name)))
      .digest("hex")
  return Object.fromEntries(names.map((name) => [name, hashOf(name)]))
}

describe.skipIf(skipped(obstacle))("a host that leaves a fleet", () => {
  it.live(
    "is drained of its uploaded image and its snapshot, is removed without force, and both are used elsewhere",
    () =>
      Effect.gen(function* () {
        const key = newSecret()
        const fleet = yield* Fleet.make({ key, services: 1, environment: { ATOLL_HOST_VCPUS: "4" } })
        const service = fleet.services[0]!
        const client = new Atoll({ apiKey: key, url: `http://${service.host}:${service.port}`, patienceSeconds: 30 })
        const homeOf = (id: string) => fleet.hosts.find(({ alive }) => alive.some(({ sandboxId }) => sandboxId === id))!

        const content = Buffer.alloc(3 * mebibyte, "uploaded ")
        const path = join(fleet.folder, "image.tar")
        writeFileSync(path, layoutArchive({ layers: [layerOf([...withShell, { name: "content", content }])] }).archive)
        const shell = (command: string) => ["/bin/busybox", "sh", "-c", command]
        const write = "cd /workspace && head -c 5000000 /dev/urandom > big && busybox sha256sum big /content > sums"
        const check = shell("cd /workspace && busybox sha256sum -c sums")
        const { image, snapshot, home } = yield* Effect.promise(async () => {
          const image = await client.images.upload(path)
          const source = await client.sandboxes.create({ imageId: image.id })
          assert.strictEqual((await source.run(shell(write))).exitCode, 0)
          const home = homeOf(source.id)
          const snapshot = await source.snapshot()
          await source.delete()
          return { image, snapshot, home }
        })
        const other = fleet.hosts.find((host) => host !== home)!
        const before = imagesOf(home)
        assert.strictEqual(Object.keys(before).length, 1)
        assert.deepStrictEqual(imagesOf(other), {})

        assert.strictEqual((yield* atoll("hosts", "drain", home.id)).code, 0)
        const onlyThere = Effect.map(documentOf("hosts", "list", "--json"), ({ hosts }) => {
          const { images, snapshots } = hosts.find(({ id }: { readonly id: string }) => id === home.id)
          return [images?.onlyHere, snapshots?.onlyHere]
        })
        yield* Effect.repeat(onlyThere, {
          until: ([images, snapshots]) => images === 0 && snapshots === 0,
          schedule: Schedule.spaced("200 millis")
        }).pipe(Effect.timeout(leavesWithin))
        assert.deepStrictEqual(imagesOf(other), before)
        const removed = yield* atoll("hosts", "remove", home.id)
        assert.deepStrictEqual([removed.code, removed.stderr], [0, ""])

        yield* Effect.promise(async () => {
          await home.kill()
          const [plain, fork] = await Promise.all([
            client.sandboxes.create({ imageId: image.id }),
            client.sandboxes.create({ snapshotId: snapshot.id })
          ])
          const hash = createHash("sha256").update(content).digest("hex")
          assert.include((await plain.run(shell("busybox sha256sum /content"))).stdout, hash)
          const same = await fork.run(check)
          assert.deepStrictEqual([same.exitCode, same.stdout], [0, "big: OK\n/content: OK\n"])
          for (const { id } of [plain, fork]) assert.strictEqual(homeOf(id), other)
          assert.deepStrictEqual(fleet.collapsed, [])
        })
      }).pipe(Effect.scoped, Effect.provide(TestDatabase.layer)),
    180_000
  )
})
