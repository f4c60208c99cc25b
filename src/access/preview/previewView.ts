/** A preview as its account gets it, with the address. */
import { Effect } from "effect"
import type { PreviewContext } from "../../../schemas/contexts/Preview.ts"
import type { Preview } from "../../../schemas/Preview.ts"
import { Settings } from "../../Config.ts"
import { PublicPort } from "../gateway/PublicPort.ts"
import { previewUrl } from "./previewUrl.ts"

export const previewView = Effect.gen(function* () {
  const settings = yield* Settings
  const publicPort = yield* PublicPort
  return (previewId: string, context: PreviewContext): Preview => {
    const hostname = `${previewId}.${settings.previewDomain}`
    return {
      id: previewId,
      sandboxId: context.sandboxId,
      port: context.port,
      url: previewUrl(settings, hostname, publicPort.current()),
      hostname,
      status: "active",
      createdAt: new Date(context.createdAt).toISOString(),
      expiresAt: new Date(context.expiresAt).toISOString()
    }
  }
})
