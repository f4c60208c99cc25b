/**
 * Beside every test file (vitest `setupFiles`): compares each request of a test to a service's API, and each answer,
 * with the published description, and fails a test whose exchanges differ from it.
 * It sees this process's HTTP clients (node:http, node:https, fetch), for every service, and all other clients of
 * servers in this process: browsers, curl, proxies, bare sockets. It does not see curl at services in other processes,
 * malformed HTTP, the frames of streams of events, and WebSocket messages.
 */
import { afterAll, afterEach, inject } from "vitest"
import type { Exchange } from "./Exchange.ts"
import { isOfOtherVersion } from "./otherVersions.ts"
import { watchProcess } from "./watchProcess.ts"

const isWatched = (target: string): boolean => target.startsWith("/api/v2/")

const faults: Array<string> = []
const waiting: Array<Exchange> = []
let hold = (exchange: Exchange): void => void waiting.push(exchange)
let loading: Promise<void> | null = null

/** Most test files have no exchange at all, and should not pay for this. */
const load = async (): Promise<void> => {
  const { Description } = await import("./Description.ts")
  const { faultsOf } = await import("./faultsOf.ts")
  const description = new Description(inject("description"))
  hold = (exchange) => void faults.push(...faultsOf(description, exchange))
  for (const exchange of waiting.splice(0)) hold(exchange)
}

/** A program behind a preview has other paths. */
const isOfPreview = (host: string): boolean => /\.preview\./i.test(host)

const onExchange = (exchange: Exchange): void => {
  const { host = "" } = exchange.requestHeaders
  if (isOfPreview(host) || isOfOtherVersion(host)) return
  loading ??= load()
  hold(exchange)
}

const shownMax = 20

const failIfFaulty = async (): Promise<void> => {
  await loading
  const found = [...new Set(faults.splice(0))]
  if (found.length === 0) return
  throw new Error(["Not as the OpenAPI description says:", ...found.slice(0, shownMax)].join("\n"))
}

watchProcess(isWatched, onExchange)
afterEach(failIfFaulty)
afterAll(failIfFaulty)
