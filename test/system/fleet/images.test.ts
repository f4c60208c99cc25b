/** An image of a fleet of processes: one host pulls it, the other at its first boot, and a host that was away removes it when it is back. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { missingPackages } from "../../../src/host/linux/programs.ts"
import { Fleet } from "../../support/fleet/Fleet.ts"
import type { HostProcess } from "../../support/fleet/HostProcess.ts"
import { layerOf, TestRegistry } from "../../support/host/image/TestRegistry.ts"
import { skipped } from "../../support/host/namespace/TestHost.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { testFolder } from "../../support/testFolder.ts"
import { untilFound } from "../../support/until.ts"
import { refusal } from "./refusal.ts"

const busybox = "/bin/busybox"
const obstacle =
  refusal ??
  (missingPackages({ mksquashfs: "squashfs-tools" }).length > 0 ? "squashfs-tools is not here" : null) ??
  (existsSync(busybox) ? null : "busybox-static is not here")

/** Of this machine, in the fleet's network. */
const registryAddress = "192.0.2.77"
const password = "word-of-the-registry"
const patience = { withinMs: 20_000 }

const imagesOf = ({ dataDir }: HostProcess): ReadonlyArray<string> => {
  const folder = join(dataDir, "runtime", "namespace", ".images")
  return existsSync(folder) ? readdirSync(folder) : []
}

/** With one image, for those who have a password. */
const privateRegistry = Effect.gen(function* () {
  const registry = yield* Effect.acquireRelease(
    Effect.promise(() => TestRegistry.start("0.0.0.0")),
    (it) => Effect.promise(() => it.close())
  )
  const program = { name: "bin/cat", content: readFileSync(busybox), mode: 0o755 }
  registry.image("one", { layers: [layerOf([program, { name: "greeting", content: "hello" }])] })
  registry.fault = ({ headers }, response) => {
    if (headers.authorization !== undefined) return false
    response.writeHead(401, { "www-authenticate": 'Basic realm="tests"' }).end()
    return true
  }
  return registry
})

const basic = (text: string) => Buffer.from(text).toString("base64")

describe.skipIf(skipped(obstacle))("an image of a fleet", () => {
  it.live(
    "is pulled by one host, by the other when a Sandbox boots there, and leaves both, also the one that was away",
    () =>
      Effect.gen(function* () {
        const registry = yield* privateRegistry
        const host = `${registryAddress}:${registry.port}`
        const fleet = yield* Fleet.make({
          services: 1,
          environment: { ATOLL_IMAGE_REGISTRIES: host, ATOLL_HOST_VCPUS: "2", ATOLL_LOG_LEVEL: "debug" },
          addresses: [registryAddress]
        })
        yield* Effect.promise(async () => {
          const [service] = fleet.services
          const ask = async (method: string, path: string, body?: unknown) => {
            const answer = await service!.ask(method, path, body, body === undefined ? undefined : JSON.stringify(body))
            assert.isBelow(answer.status, 300, JSON.stringify(answer.body))
            return answer.body
          }
          const source = { reference: `${host}/tests/image:one`, username: "robot", password }
          const imageId = (await ask("POST", "/images", source)).image.id
          let status = "pulling"
          await untilFound(
            async () => {
              const { image } = await ask("GET", `/images/${imageId}`)
              status = JSON.stringify([image.status, image.statusReason])
              return image.status === "ready"
            },
            { ...patience, otherwise: () => status }
          )
          assert.strictEqual(fleet.hosts.filter((it) => imagesOf(it).length > 0).length, 1)

          const workspaceId = (await ask("POST", "/workspaces", { name: "images" })).workspace.id
          const made = await Promise.all(
            ["a", "b", "c"].map(async (name) => {
              const request = { workspaceId, name, imageId, networkEnabled: false, profile: { vcpus: 1 } }
              const { id } = (await ask("POST", "/sandboxes?wait=running", request)).sandbox
              const { result } = await ask("POST", `/sandboxes/${id}/execute`, { argv: ["/bin/cat", "/greeting"] })
              assert.strictEqual(result.stdout, "hello")
              return id
            })
          )
          for (const it of fleet.hosts) assert.strictEqual(imagesOf(it).length, 2, imagesOf(it).join())

          for (const id of made) await ask("DELETE", `/sandboxes/${id}`)
          const [, away] = fleet.hosts
          await away!.kill()
          await ask("DELETE", `/images/${imageId}`)
          assert.deepStrictEqual(imagesOf(fleet.hosts[0]!), [])
          assert.strictEqual(imagesOf(away!).length, 2)
          away!.start()
          await untilFound(async () => imagesOf(away!).length === 0, { ...patience, otherwise: () => fleet.log })
          for (const { log } of [...fleet.services, ...fleet.hosts]) assert.notInclude(log, password)
          assert.deepStrictEqual(fleet.collapsed, [])
        })
      }).pipe(Effect.scoped, Effect.provide(TestDatabase.layerEmpty)),
    120_000
  )

  it.live(
    "of the operator is pulled by a host with the login of the service's file",
    () =>
      Effect.gen(function* () {
        const registry = yield* privateRegistry
        const host = `${registryAddress}:${registry.port}`
        const logins = join(yield* testFolder, "auth.json")
        const auth = basic(`robot:${password}`)
        writeFileSync(logins, JSON.stringify({ auths: { [`${host}/tests`]: { auth } } }), { mode: 0o600 })
        const fleet = yield* Fleet.make({
          services: 1,
          hosts: 1,
          environment: {
            ATOLL_IMAGE_REGISTRIES: host,
            ATOLL_IMAGES: `base=${host}/tests/image:one`,
            ATOLL_IMAGES_CREDENTIALS: logins,
            ATOLL_LOG_LEVEL: "debug"
          },
          addresses: [registryAddress]
        })
        yield* Effect.promise(async () => {
          const [service] = fleet.services
          let text = ""
          await untilFound(
            async () => {
              const { body } = await service!.ask("GET", "/images")
              text = JSON.stringify(body)
              return body.images[0]?.status === "ready"
            },
            { ...patience, otherwise: () => text }
          )
          assert.lengthOf(imagesOf(fleet.hosts[0]!), 2)
          const sent = registry.seen.flatMap(({ authorization }) =>
            authorization === undefined ? [] : [authorization]
          )
          assert.deepStrictEqual([...new Set(sent)], [`Basic ${auth}`])
          for (const { log } of [...fleet.services, ...fleet.hosts]) {
            for (const secret of [password, auth]) assert.notInclude(log, secret)
          }
          assert.deepStrictEqual(fleet.collapsed, [])
        })
      }).pipe(Effect.scoped, Effect.provide(TestDatabase.layerEmpty)),
    120_000
  )
})
