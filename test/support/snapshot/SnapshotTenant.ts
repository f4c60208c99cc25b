/** A new account over HTTP, for tests of snapshots and forks. */
import { randomUUID } from "node:crypto"
import { type Scope, scopes } from "../../../schemas/Access.ts"
import type { Answer, Ask, TestApi } from "../http/TestApi.ts"
import { untilSeen } from "../until.ts"

export const snapshotTenant = async (api: TestApi["Service"]) => {
  const account = randomUUID()
  const { secret: key } = await api.newKey(scopes, account)
  const workspaceId = await api.newWorkspace(key)
  const send = (method: string, path: string, ask: Ask = {}): Promise<Answer> =>
    api.send(method, `/api/v2${path}`, { key, ...ask })
  const keyed = (name: string = randomUUID()) => ({ "idempotency-key": name })

  const untilIs = async (kind: "sandbox" | "snapshot", id: string, status: string) =>
    (
      await untilSeen(
        () => send("GET", `/${kind === "sandbox" ? "sandboxes" : "snapshots"}/${id}`),
        ({ json }) => json[kind].status === status,
        { otherwise: ({ text }) => text }
      )
    ).json[kind]

  return {
    key,
    workspaceId,
    send,
    keyed,
    untilIs,
    keyWith: async (only: ReadonlyArray<Scope>) => (await api.newKey(only, account)).secret,
    /** Accepted; `more` is added to the request. */
    create: (more: object = {}, name: string = randomUUID()) =>
      send("POST", "/sandboxes", { body: { workspaceId, ...more }, headers: keyed(name) }),
    /** The id of a new Sandbox that runs. */
    running: async (more: object = {}): Promise<string> => {
      const { json } = await send("POST", "/sandboxes?wait=running", {
        body: { workspaceId, ...more },
        headers: keyed()
      })
      return json.sandbox.id
    },
    take: (sandboxId: string, body: object = {}, name: string = randomUUID()) =>
      send("POST", `/sandboxes/${sandboxId}/snapshots`, { body, headers: keyed(name) }),
    /** The id of a new snapshot that is ready. */
    ready: async (sandboxId: string, body: object = {}): Promise<string> => {
      const { json } = await send("POST", `/sandboxes/${sandboxId}/snapshots`, { body })
      await untilIs("snapshot", json.snapshot.id, "ready")
      return json.snapshot.id
    },
    fork: (sandboxId: string, body: object, name: string = randomUUID()) =>
      send("POST", `/sandboxes/${sandboxId}/fork`, { body, headers: keyed(name) })
  }
}

export type SnapshotTenant = Awaited<ReturnType<typeof snapshotTenant>>
