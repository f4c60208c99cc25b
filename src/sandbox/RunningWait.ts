/** Time limit of `wait=running`, in ms. */
import { Context } from "effect"
import { runningWaitSeconds } from "../../schemas/Limits.ts"

export const RunningWait = Context.Reference<number>("atoll/sandbox/RunningWait", {
  defaultValue: () => runningWaitSeconds * 1000
})
