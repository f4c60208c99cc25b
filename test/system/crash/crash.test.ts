import { it } from "vitest"
import { crashes } from "../../support/crash/crashes.ts"

it(
  "a service loses nothing that it acknowledged and does nothing twice, however often it is killed",
  {
    timeout: 300_000
  },
  (context) => crashes(context, { roundsMax: 8, newRoundsForMs: 25_000 })
)
