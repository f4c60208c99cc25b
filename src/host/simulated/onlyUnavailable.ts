/** A fault of a call that no limit refuses: a planted refusal is like any other failure. */
import { RuntimeRefused, RuntimeUnavailable } from "../../runtime/Runtime.ts"

export const onlyUnavailable = (error: RuntimeRefused | RuntimeUnavailable) =>
  error instanceof RuntimeRefused ? new RuntimeUnavailable({ message: error.message }) : error
