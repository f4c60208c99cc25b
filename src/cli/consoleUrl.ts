/** The base address of the links that the command line prints. */
import { Effect } from "effect"
import { Settings } from "../Config.ts"
import { publicUrl } from "../console/server/consoleLink.ts"
import { Refused } from "./answer.ts"

export const consoleUrl = Effect.gen(function* () {
  const url = publicUrl(yield* Settings)
  return (
    url ??
    (yield* new Refused({
      message:
        "The port of Atoll is not known yet (ATOLL_PORT is 0): set ATOLL_PUBLIC_URL to the address that browsers use."
    }))
  )
})
