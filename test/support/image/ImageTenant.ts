/** A new account over HTTP, for tests of images. */
import { randomUUID } from "node:crypto"
import { scopes } from "../../../schemas/Access.ts"
import type { Answer, Ask, TestApi } from "../http/TestApi.ts"
import { untilSeen } from "../until.ts"

const answerOf = { images: "image", sandboxes: "sandbox", snapshots: "snapshot" } as const

export const imageTenant = async (api: TestApi["Service"]) => {
  const account = randomUUID()
  const { secret: key } = await api.newKey(scopes, account)
  const workspaceId = await api.newWorkspace(key)
  const send = (method: string, path: string, ask: Ask = {}): Promise<Answer> =>
    api.send(method, `/api/v2${path}`, { key, ...ask })
  const keyed = (name: string = randomUUID()) => ({ "idempotency-key": name })

  return {
    account,
    key,
    send,
    untilIs: async (kind: keyof typeof answerOf, id: string, status: string) =>
      (
        await untilSeen(
          () => send("GET", `/${kind}/${id}`),
          ({ json }) => json[answerOf[kind]].status === status,
          { otherwise: ({ text }) => text }
        )
      ).json[answerOf[kind]],
    pull: (body: object, name: string = randomUUID()) => send("POST", "/images", { body, headers: keyed(name) }),
    create: (more: object) => send("POST", "/sandboxes", { body: { workspaceId, ...more }, headers: keyed() })
  }
}

export type ImageTenant = Awaited<ReturnType<typeof imageTenant>>
