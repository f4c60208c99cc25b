/** One of the kills in test/system/crash. */
import { it } from "vitest"
import { crashes } from "../../support/crash/crashes.ts"

it(
  "a service that is killed with -9 once loses nothing that it acknowledged and does nothing twice",
  {
    timeout: 120_000
  },
  (context) => crashes(context, { roundsMax: 1, newRoundsForMs: 0 })
)
