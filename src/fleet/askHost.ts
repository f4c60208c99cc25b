/** The operator's requests to a host, and their checks: for the command line and the console alike. */
import { Effect, Schema } from "effect"
import { removalObstacle } from "../../machines/hostRemoval.ts"
import type { Asked } from "../../schemas/console/Hosts.ts"
import { type HostRow, Hosts, type SnapshotsLost } from "./Hosts.ts"
import { hostState } from "./hostDocument.ts"
import { isAbsent, isEmptied, isRemovedHost } from "./hostStates.ts"

/** A running service receives a request immediately. */
const toldWithinMs = 3_000
const lookEveryMs = 50

/** `message` says why, in one sentence. */
export class HostRefused extends Schema.TaggedError<HostRefused>()("HostRefused", {
  message: Schema.String,
  why: Schema.Literals([
    /** The host was removed. */
    "gone",
    /** The host is in use; a forced removal is still possible. */
    "used",
    /** The host came into use during the request. */
    "meanwhile"
  ])
}) {}

/** Stores the request and waits briefly for a service to pass it on. Null: no service has, so it takes effect when a service runs. */
const asked = Effect.fnUntraced(function* (hosts: Hosts["Service"], { id }: HostRow, wish: Asked) {
  yield* hosts.ask(id, wish)
  const deadline = performance.now() + toldWithinMs
  while (performance.now() < deadline) {
    const now = yield* hosts.find(id)
    if (now === null || now.asked === null) return now
    yield* Effect.sleep(lookEveryMs)
  }
  return null
})

const notGone = (host: HostRow) =>
  isRemovedHost(host.state)
    ? Effect.fail(
        new HostRefused({
          why: "gone",
          message: `${host.label} was removed. A machine joins again as a new host, with an empty folder.`
        })
      )
    : Effect.void

/** Requests that another request can undo. */
export type Wish = Exclude<Asked, "REMOVE" | "REMOVE_FORCED">

/** The host after the request; null: no service has passed it on yet. */
export const wishOfHost = Effect.fn("wishOfHost")(function* (host: HostRow, wish: Wish) {
  yield* notGone(host)
  return yield* asked(yield* Hosts, host, wish)
})

const sandboxesOf = (count: number): string => (count === 1 ? "1 Sandbox" : `${count} Sandboxes`)

/** Why a removal needs force; null: no reason. */
const obstacleOf = (host: HostRow): string | null => {
  const { sandboxes, sandboxesUp: up, label } = host
  const state = hostState(host)
  switch (removalObstacle(state, { all: sandboxes, up })) {
    case null:
      return null
    case "runs":
      return `${label} still runs ${sandboxesOf(up)}: wait until atoll hosts list says that it runs none`
    case "lives":
      return `${label} has ${sandboxesOf(sandboxes)}: drain it first`
    case "isUsed":
      return host.joinedAt === 0
        ? `${label} has never joined, and ${sandboxes === 0 ? "no Sandbox lives" : `${sandboxesOf(sandboxes)} may live`} there: start a host on that data folder`
        : `${label} is ${state}: drain it first`
  }
}

/** "2 snapshots, which are lost with it" */
const lostWithIt = (count: number, one: string): string =>
  `${count} ${count === 1 ? `${one}, which is` : `${one}s, which are`} lost with it`

/** What the operator can do for what is lost with the host. @param isStuck It cannot be copied. @param orElse What its owners can do. */
const stepBefore = ({ state }: HostRow, isStuck: boolean, orElse: string): string =>
  isAbsent(state) || isStuck
    ? `${orElse} first`
    : isEmptied(state)
      ? `wait until atoll hosts list says that none is only there, or ${orElse}`
      : "drain it first, which copies them to other hosts"

/** Snapshots that no other host has are lost with theirs; null: it has none. */
const lossOf = (host: HostRow, { onlyHere, bound }: SnapshotsLost): string | null => {
  if (onlyHere === 0) return null
  const kept = bound === 0 ? "" : `, ${bound} of them with memory, which cannot be copied`
  const step = stepBefore(host, bound === onlyHere, "export or delete what its owners need")
  return `${host.label} has ${lostWithIt(onlyHere, "snapshot")}${kept}: ${step}`
}

/** The same for images without a registry. */
const imageLossOf = (host: HostRow, images: number): string | null =>
  images === 0
    ? null
    : `${host.label} has ${lostWithIt(images, "uploaded image")}: ${stepBefore(host, false, "have their owners delete them")}`

/** The same for a removal. */
export const removeHost = Effect.fn("removeHost")(function* (host: HostRow, isForced: boolean) {
  yield* notGone(host)
  const hosts = yield* Hosts
  const obstacle = isForced
    ? null
    : (obstacleOf(host) ??
      lossOf(host, yield* hosts.snapshotsOn(host.id)) ??
      imageLossOf(host, yield* hosts.imagesOn(host.id)))
  if (obstacle !== null) return yield* new HostRefused({ why: "used", message: obstacle })
  const after = yield* asked(hosts, host, isForced ? "REMOVE_FORCED" : "REMOVE")
  if (after === null || isRemovedHost(after.state)) return after
  return yield* new HostRefused({
    why: "meanwhile",
    message: `${host.label} is now ${hostState(after)}, and was not removed.`
  })
})
