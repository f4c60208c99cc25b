/** All exchanges of this process, which runs many test files: it patches once, and reports to the present file. */
import type { Exchange } from "./Exchange.ts"
import { watchFetch } from "./watchFetch.ts"
import { watchHttp } from "./watchHttp.ts"
import { watchServer } from "./watchServer.ts"

type Listener = (exchange: Exchange) => void

let told: Listener | null = null

/** As watchHttp; replaces the earlier listener. */
export const watchProcess = (isWatched: (target: string) => boolean, onExchange: Listener): void => {
  const isFirst = told === null
  told = onExchange
  if (!isFirst) return
  const tell: Listener = (exchange) => told!(exchange)
  watchHttp(isWatched, tell)
  watchFetch(isWatched, tell)
  watchServer(isWatched, tell)
}
