/**
 * Previews of several ports that are opened, looked up, closed, expired and stopped concurrently.
 * A failure prints its seed and path; ATOLL_TEST_SEED repeats its rounds.
 */
import { layer } from "@effect/vitest"
import { Clock, Layer } from "effect"
import { TestApi } from "../../../support/http/TestApi.ts"
import { previewsAlongside } from "../../../support/preview/previewsAlongside.ts"
import { ShiftedClock } from "../../../support/ShiftedClock.ts"

const clock = new ShiftedClock()
const served = TestApi.layer().pipe(Layer.provideMerge(Layer.succeed(Clock.Clock, clock)))

layer(served, { excludeTestServices: true })("previews alongside each other", (it) => {
  it.effect("are never more than the limit, are listed, and end once, in any order of concurrent acts", () =>
    previewsAlongside(clock, 8)
  )
})
