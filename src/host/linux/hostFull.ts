import { publicText } from "../../../schemas/PublicText.ts"
import { RuntimeRefused } from "../../runtime/Runtime.ts"

/** What a tenant is told; what the host has and what its settings are is for the operator's log. */
export const hostFull = (): RuntimeRefused =>
  new RuntimeRefused({
    code: "HOST_FULL",
    message: publicText`This host has no room for the Sandbox now. Try again later, or stop or delete another one.`
  })
