import { publicText } from "../../../schemas/PublicText.ts"
import { RuntimeRefused } from "../../runtime/Runtime.ts"

/** The error for the tenant. The operator's log has the host's figures and settings. */
export const hostFull = (): RuntimeRefused =>
  new RuntimeRefused({
    code: "HOST_FULL",
    message: publicText`This host has no room for the Sandbox now. Try again later, or stop or delete another one.`
  })
