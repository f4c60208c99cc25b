/**
 * Beside every test file (vitest `setupFiles`): whatever a test asks of the API of a service, and whatever it is answered, is held to
 * the published description, and a test whose exchanges are not as described fails.
 */
import { afterAll, afterEach, inject } from "vitest"
import { Description } from "./Description.ts"
import type { Exchange } from "./Exchange.ts"
import { faultsOf } from "./faultsOf.ts"
import { watchFetch } from "./watchFetch.ts"
import { watchHttp } from "./watchHttp.ts"
import { watchServer } from "./watchServer.ts"

/** Of a tunnel one can only say that it is open or not: it is no part of the description. */
const isWatched = (target: string): boolean => target.startsWith("/api/v2/") && !target.startsWith("/api/v2/tunnel")

const faults: Array<string> = []
let description: Description | null = null

const onExchange = (exchange: Exchange): void => {
  description ??= new Description(inject("description"))
  faults.push(...faultsOf(description, exchange))
}

const failIfFaulty = (): void => {
  const found = [...new Set(faults.splice(0))]
  if (found.length > 0) throw new Error(`Not as the OpenAPI description says:\n${found.join("\n")}`)
}

watchHttp(isWatched, onExchange)
watchFetch(isWatched, onExchange)
watchServer(isWatched, onExchange)
afterEach(failIfFaulty)
afterAll(failIfFaulty)
