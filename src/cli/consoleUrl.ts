/** Where the links that the command line prints lead. */
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
        "Nobody knows yet at which port Atoll will serve (ATOLL_PORT is 0): set ATOLL_PUBLIC_URL to where browsers reach it."
    }))
  )
})
