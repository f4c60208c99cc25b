/** All that this process exchanges, whatever number of test files it does: what it patches it patches once, and tells the file that is being done. */
import type { Exchange } from "./Exchange.ts"
import { watchFetch } from "./watchFetch.ts"
import { watchHttp } from "./watchHttp.ts"
import { watchServer } from "./watchServer.ts"

type Listener = (exchange: Exchange) => void

let told: Listener | null = null

/** As watchHttp; in the place of the listener that was given before. */
export const watchProcess = (isWatched: (target: string) => boolean, onExchange: Listener): void => {
  const isFirst = told === null
  told = onExchange
  if (!isFirst) return
  const tell: Listener = (exchange) => told!(exchange)
  watchHttp(isWatched, tell)
  watchFetch(isWatched, tell)
  watchServer(isWatched, tell)
}
