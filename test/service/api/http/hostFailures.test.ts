/**
 * Only the operator reads the failures of a host. Its customer sees a code, a sentence and a reference, for every
 * command that fails.
 */
import { randomUUID } from "node:crypto"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { scopes } from "../../../../schemas/Access.ts"
import { imageArchiveMediaType } from "../../../../schemas/ImageUpload.ts"
import { snapshotMediaType } from "../../../../schemas/SnapshotFile.ts"
import type { SimulatedCall } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { RuntimeUnavailable } from "../../../../src/runtime/Runtime.ts"
import { isOverAFleet } from "../../../support/fleet/isOverAFleet.ts"
import { hang } from "../../../support/http/commands.ts"
import { EventClient } from "../../../support/http/EventClient.ts"
import { type Answer, TestApi } from "../../../support/http/TestApi.ts"
import { lines, rememberAll } from "../../../support/serviceLog.ts"
import { snapshotFile } from "../../../support/snapshot/snapshotFile.ts"
import { untilFound } from "../../../support/until.ts"

const secrets = ["hidden-data", "volume.img", "2000017", "host-7", "471147114711", "ENOENT"]
const cause =
  "ENOENT: no such file or directory, statfs '/srv/hidden-data/runtime/volume.img' (uid 2000017, inode 471147114711) on host-7.internal"

/** Each command of a host. It fails this often and then succeeds, so that retries end. Those that carry images between hosts are in uploadsOnHosts.test.ts. */
const failing: Readonly<Record<Exclude<SimulatedCall, "readImage" | "storeImage">, number>> = {
  turn: 9,
  provision: 9,
  stop: 2,
  destroy: 2,
  suspend: 2,
  resize: 2,
  inventory: 9,
  capture: 9,
  restore: 2,
  removeSnapshot: 2,
  pullImage: 2,
  removeImage: 2,
  receiveImage: 1,
  acceptImage: 2,
  receive: 1,
  accept: 9,
  guest: 9,
  start: 3,
  attach: 3,
  kill: 3
}

/**
 * One Sandbox from its creation to its deletion, used in all ways: everything that its customer is shown meanwhile and
 * afterwards.
 */
const told = async (api: TestApi["Service"], call: keyof typeof failing) => {
  let left = failing[call]
  const seen: Array<string> = []
  api.world.intercept = (asked) =>
    Effect.suspend(() => {
      if (asked !== call || left <= 0) return Effect.void
      left--
      return Effect.fail(new RuntimeUnavailable({ message: cause }))
    })
  const { secret: key } = await api.newKey(scopes, randomUUID())
  const send = async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const headers = { "idempotency-key": randomUUID() }
    const answer = await api.send(method, `/api/v2${path}`, { key, headers, ...(body === undefined ? {} : { body }) })
    seen.push(answer.text)
    return answer
  }
  const events = new EventClient(api.port, "/api/v2/events", { authorization: `Bearer ${key}` })
  await events.until(() => events.status === 200)
  const workspaceId = await api.newWorkspace(key)
  const { id } = (await send("POST", "/sandboxes", { workspaceId })).json.sandbox
  const path = `/sandboxes/${id}`
  const has = (type: string) => events.until(() => events.transitions.some(({ data }) => data.event.type === type))
  const isOver = (types: ReadonlyArray<string>) =>
    events.until(() => events.transitions.some(({ data }) => types.includes(data.event.type)))
  await isOver(["RUNTIME_UP", "RUNTIME_FAILED"])
  const failed = (await send("GET", path)).json.sandbox
  if (failed.status === "failed") await send("POST", `${path}/start?wait=running`)
  await send("GET", `${path}/files/stat?path=/workspace`)
  await send("POST", `${path}/execute`, { argv: ["true"] })
  await send("POST", `${path}/previews`, { port: 80 })
  const { operation } = (await send("POST", `${path}/operations`, { argv: hang })).json
  if (operation !== undefined) {
    await send("POST", `${path}/operations/${operation.id}/cancel`)
    await has("TREE_SETTLED")
  }
  const { snapshot } = (await send("POST", `${path}/snapshots`, {})).json
  // A Sandbox that has failed has no volume.
  // biome-ignore lint/suspicious/noExplicitAny: as an answer has it
  let capture: any = null
  if (snapshot !== undefined) {
    await isOver(["CAPTURED", "CAPTURE_FAILED"])
    capture = (await send("GET", `/snapshots/${snapshot.id}`)).json.snapshot
    if (call === "restore") {
      await send("POST", `${path}/rollback`, { snapshotId: snapshot.id })
      await has("VOLUME_RESTORED")
      await send("POST", `${path}/start?wait=running`)
    }
    await send("DELETE", `/snapshots/${snapshot.id}`)
    await events.until(() => events.transitions.some(({ data }) => data.to === "deleted"))
    await send("GET", `/snapshots/${snapshot.id}/transitions`)
  }
  if (call === "pullImage" || call === "removeImage") {
    const { image } = (await send("POST", "/images", { reference: "registry.test/tools:1" })).json
    const is = async (status: string) => (await send("GET", `/images/${image.id}`)).json.image.status === status
    await untilFound(() => is("ready"))
    await send("DELETE", `/images/${image.id}`)
    await untilFound(() => is("deleted"))
    await send("GET", `/images/${image.id}/transitions`)
  }
  if (call === "receiveImage" || call === "acceptImage") {
    const upload = async () => {
      const headers = { "idempotency-key": randomUUID(), "content-type": imageArchiveMediaType }
      const answer = await api.send("POST", "/api/v2/images/upload", { key, headers, body: Buffer.from("an archive") })
      seen.push(answer.text)
      return answer.json.image
    }
    const image = (await upload()) ?? (await upload())
    await untilFound(async () => (await send("GET", `/images/${image.id}`)).json.image.status === "ready")
    await send("GET", `/images/${image.id}/transitions`)
  }
  await send("PATCH", path, { profile: { vcpus: 0.5 } })
  // No event shows that.
  if (call === "resize") await untilFound(() => left < failing[call])
  if (call === "suspend") await has("SUSPEND_FAILED")
  // It fails when the reconciler next asks, which no event shows.
  if (call === "inventory") await untilFound(() => left < failing[call])
  const headers = { "content-type": snapshotMediaType }
  const answer = await api.send("POST", `/api/v2/snapshots?workspaceId=${workspaceId}`, {
    key,
    body: await snapshotFile(),
    headers
  })
  seen.push(answer.text)
  let imported = answer.json.snapshot
  if (imported !== undefined) {
    await events.until(() =>
      events.transitions.some(({ data: { actorId, from } }) => actorId === imported.id && from !== null)
    )
    imported = (await send("GET", `/snapshots/${imported.id}`)).json.snapshot
  }
  await send("POST", `${path}/stop`)
  await send("POST", `${path}/start?wait=running`)
  await send("DELETE", path)
  await has("VOLUME_GONE")
  api.world.intercept = () => Effect.void
  await api.auditWritten()
  for (const read of ["", "/transitions?limit=1000", "/history?limit=1000", "/operations", "/logs"]) {
    await send("GET", `${path}${read}`)
  }
  await send("GET", "/audit")
  await send("GET", "/sandboxes")
  events.close()
  return {
    id: call === "capture" ? (snapshot.id as string) : call === "accept" ? (imported.id as string) : id,
    left,
    seen: [...seen, JSON.stringify(events.events)],
    statusReason:
      call === "capture" ? capture?.statusReason : call === "accept" ? imported.statusReason : failed.statusReason
  }
}

describe.skipIf(isOverAFleet)("a failure on a host", () => {
  const service = TestApi.layer({ ATOLL_SLEEP_AFTER_SECONDS: "1", ATOLL_RECONCILE_INTERVAL_MS: "100" }).pipe(
    Layer.provide(rememberAll)
  )
  layer(service, { excludeTestServices: true })((it) => {
    for (const call of Object.keys(failing) as ReadonlyArray<keyof typeof failing>)
      it.effect(`shows its customer nothing of the host: ${call}`, () =>
        Effect.gen(function* () {
          const api = yield* TestApi
          const { id, left, seen, statusReason } = yield* Effect.promise(() => told(api, call))
          assert.isBelow(left, failing[call], "it did fail")
          for (const text of seen) for (const secret of secrets) assert.notInclude(text, secret)
          const reference = /reference (flt_[0-9a-z]{8})\./.exec(seen.join("\n"))?.[1]
          if (call === "provision" || call === "turn") {
            assert.strictEqual(statusReason.code, "RUNTIME_FAILED")
            assert.include(statusReason.message, reference)
          }
          if (call === "capture" || call === "accept") {
            assert.strictEqual(statusReason.code, "CAPTURE_FAILED")
            assert.include(statusReason.message, reference)
          }
          if (!["provision", "turn", "suspend", "capture"].includes(call)) return
          const line = lines.find((it) => it.includes(String(reference)))
          assert.include(line, cause)
          assert.include(line, id)
        })
      )
  })
})
