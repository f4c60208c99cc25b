/** A limit that is found only during provisioning is the answer to the start, and to every replay of the create. */
import { SandboxLimitReached, StorageLimitReached } from "../../schemas/Errors.ts"
import type { Sandbox } from "../../schemas/Sandbox.ts"

export const limitRefusal = ({ statusReason }: Pick<Sandbox, "statusReason">) =>
  statusReason?.code === "STORAGE_LIMIT_REACHED"
    ? new StorageLimitReached({ message: statusReason.message, details: { limitBytes: null } })
    : new SandboxLimitReached({
        message: statusReason?.message ?? "A limit refused the Sandbox.",
        details: { limit: null }
      })
