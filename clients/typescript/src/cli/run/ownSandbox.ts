/** A Sandbox for one command: made for it, and deleted after it. */

import type { Atoll } from "../../Atoll.ts"
import { randomKey } from "../../http/randomKey.ts"
import type { Sandbox } from "../../Sandbox.ts"
import type { CreateSandboxOptions } from "../../Sandboxes.ts"
import { sentenceOf } from "../failure.ts"
import { remark } from "../standardStreams.ts"

/** If no client is left to delete it, it is deleted after so much idle time. */
export const idleSeconds = 300

/** Aborted while it boots, it is deleted all the same: its key finds it again. */
export const ownSandbox = async (
  atoll: Atoll,
  options: Pick<CreateSandboxOptions, "networkEnabled" | "metadata" | "image">,
  signal: AbortSignal
): Promise<Sandbox> => {
  const asked = {
    ...options,
    name: "atoll run",
    lifetime: { stopAfterIdleSeconds: idleSeconds, deleteAfterStoppedSeconds: 0 },
    workspaceId: (await atoll.workspaces.first({ signal })).id,
    idempotencyKey: randomKey()
  }
  try {
    return await atoll.sandboxes.create({ ...asked, signal })
  } catch (thrown) {
    if (signal.aborted) await (await atoll.sandboxes.create({ ...asked, untilRunning: false })).delete()
    throw thrown
  }
}

export const removeOwn = async (atoll: Atoll, sandbox: Sandbox): Promise<void> => {
  try {
    await atoll.api.call("deleteSandbox", { parameters: { id: sandbox.id }, attemptSeconds: 45 })
  } catch (thrown) {
    remark(
      `${sentenceOf(thrown, atoll.api.url.origin)} The Sandbox ${sandbox.id} is deleted when it has been idle for ${idleSeconds} s.`
    )
  }
}
