/** `atoll hosts list|cordon|drain|uncordon|remove` */
import { Clock, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { type Asked, type HostRow, Hosts } from "../fleet/Hosts.ts"
import { answer, Refused } from "./answer.ts"
import { table, time } from "./table.ts"

/** A service that runs hears of a wish at once. */
const toldWithinMs = 3_000
const lookEveryMs = 50

const gib = 1024 ** 3

const stateOf = ({ state }: HostRow): string => state ?? "joining"

/** As `--json` prints it. */
const hostDocument = (host: HostRow, now: number) => ({
  id: host.id,
  label: host.label,
  state: stateOf(host),
  since: time(host.since),
  wish: host.wish ?? "open",
  asked: host.asked,
  reason: host.reason,
  kind: host.kind,
  driver: host.driver,
  version: host.version,
  address: { host: host.addressHost, port: host.addressPort },
  sandboxes: { all: host.sandboxes, up: host.sandboxesUp, missing: host.sandboxesMissing },
  capacity: {
    vcpus: host.vcpus,
    memoryBytes: host.memoryBytes,
    diskBytes: host.diskBytes,
    parallelStarts: host.parallelStarts
  },
  promised: { vcpus: host.vcpusPromised, memoryBytes: host.memoryPromised, diskBytes: host.diskPromised },
  networkRefused: host.networkRefused,
  joinedAt: time(host.joinedAt),
  seenAt: time(host.seenAt),
  seenSecondsAgo: Math.max(0, Math.round((now - host.seenAt) / 1000))
})

const wishWords: Readonly<Record<Asked, string>> = {
  CORDON: "cordon",
  DRAIN: "drain",
  UNCORDON: "uncordon",
  REMOVE: "remove",
  REMOVE_FORCED: "remove --force"
}

/** What a person asks about it: why it is as it is, and what comes. */
const remarkOf = (host: HostRow): string =>
  [
    ...(host.reason === null ? [] : [host.reason.message]),
    ...(host.networkRefused === null ? [] : [`No network: ${host.networkRefused}.`]),
    ...(host.sandboxesMissing === 0 ? [] : [`${host.sandboxesMissing} of its volumes are not there.`]),
    ...(host.wish === null || host.wish === "open" || host.wish === stateOf(host) ? [] : [`It is to be ${host.wish}.`]),
    ...(host.asked === null ? [] : [`No service has heard yet: ${wishWords[host.asked]}.`])
  ].join(" ") || "-"

const shown = (bytes: number): string => (bytes / gib).toFixed(bytes < 10 * gib ? 1 : 0)

const agoOf = (ms: number): string => {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 120) return `${seconds} s ago`
  if (seconds < 2 * 3600) return `${Math.round(seconds / 60)} min ago`
  return seconds < 48 * 3600 ? `${Math.round(seconds / 3600)} h ago` : `${Math.round(seconds / 86_400)} d ago`
}

const hostTable = (hosts: ReadonlyArray<HostRow>, now: number): string =>
  hosts.length === 0
    ? "No host has joined. With ATOLL_ROLE=all there is none but this one; a fleet's join with ATOLL_ROLE=host and ATOLL_FLEET_JOIN."
    : table(
        ["ID", "STATE", "KIND", "SANDBOXES", "VCPUS", "MEMORY GIB", "DISK GIB", "SEEN", "LABEL", "REMARK"],
        hosts.map((host) => [
          host.id,
          stateOf(host),
          host.kind,
          `${host.sandboxesUp} up of ${host.sandboxes}`,
          `${host.vcpusPromised} of ${host.vcpus}`,
          `${shown(host.memoryPromised)} of ${shown(host.memoryBytes)}`,
          `${shown(host.diskPromised)} of ${shown(host.diskBytes)}`,
          agoOf(now - host.seenAt),
          host.label,
          remarkOf(host)
        ])
      )

const list = Command.make(
  "list",
  { all: Flag.Boolean("all").pipe(Flag.withDescription("Those that were removed, too"), Flag.withDefault(false)) },
  Effect.fnUntraced(function* ({ all }) {
    const hosts = (yield* (yield* Hosts).list).filter((host) => all || stateOf(host) !== "gone")
    const now = yield* Clock.currentTimeMillis
    yield* answer(hostTable(hosts, now), { hosts: hosts.map((host) => hostDocument(host, now)) })
  })
).pipe(Command.withDescription("List the hosts of the fleet: how each stands, what of it is promised, and why"))

const named = Argument.String("host").pipe(Argument.withDescription("Its id, the beginning of it, or its label"))

const knownHost = Effect.fnUntraced(function* (name: string) {
  const hosts = yield* (yield* Hosts).list
  // A label is what the host says, and may be the id of another one.
  const called = hosts.filter(({ id }) => id === name)
  const exact = called.length > 0 ? called : hosts.filter(({ label }) => label === name)
  const found = exact.length > 0 ? exact : hosts.filter(({ id }) => id.startsWith(name) && name.length > "host_".length)
  if (found.length === 1) return found[0]!
  return yield* new Refused({
    message:
      found.length === 0
        ? `There is no host ${JSON.stringify(name)}. atoll hosts list shows them.`
        : `${JSON.stringify(name)} are ${found.length} hosts: ${found.map(({ id }) => id).join(", ")}. Give the id of one.`
  })
})

/** Asks, and waits a moment for a service that tells its actor. Null: none has, so it is done when one runs. */
const asked = Effect.fnUntraced(function* (host: HostRow, wish: Asked) {
  const hosts = yield* Hosts
  yield* hosts.ask(host.id, wish)
  const deadline = performance.now() + toldWithinMs
  while (performance.now() < deadline) {
    const now = yield* hosts.find(host.id)
    if (now === null || now.asked === null) return now
    yield* Effect.sleep(lookEveryMs)
  }
  return null
})

const notGone = (host: HostRow) =>
  stateOf(host) === "gone"
    ? Effect.fail(
        new Refused({
          message: `${host.label} was removed. A machine joins again as a new host, with an empty folder.`
        })
      )
    : Effect.void

const later = "No service has heard of it within 3 s: it is done as soon as one runs."

const wishCommand = (
  name: "cordon" | "drain" | "uncordon",
  wish: Asked,
  description: string,
  told: (host: HostRow) => string
) =>
  Command.make(
    name,
    { host: named },
    Effect.fnUntraced(function* ({ host: nameOrId }) {
      const before = yield* knownHost(nameOrId)
      yield* notGone(before)
      const host = yield* asked(before, wish)
      const document = hostDocument(host ?? { ...before, asked: wish }, yield* Clock.currentTimeMillis)
      yield* answer(host === null ? later : told(host), { host: document })
    })
  ).pipe(Command.withDescription(description))

const cordon = wishCommand("cordon", "CORDON", "Place no new Sandboxes on a host; those that it has go on", (host) =>
  stateOf(host) === "cordoned"
    ? `${host.label} gets no new Sandboxes. Those that it has go on, and can be started.`
    : `${host.label} is ${stateOf(host)}, and gets no new Sandboxes when it is there either.`
)

const drain = wishCommand(
  "drain",
  "DRAIN",
  "Stop the Sandboxes of a host, with their volumes kept, and start none there",
  (host) =>
    stateOf(host) === "draining"
      ? `${host.label} is drained: ${host.sandboxesUp} Sandboxes are being stopped, their volumes are kept. atoll hosts list says when none runs there; atoll hosts uncordon undoes it.`
      : `${host.label} is ${stateOf(host)}, and is drained as soon as it is there.`
)

const uncordon = wishCommand("uncordon", "UNCORDON", "Use a host again that was cordoned or drained", (host) =>
  stateOf(host) === "ready"
    ? `${host.label} gets new Sandboxes again. Those that were stopped there are started by whoever needs them.`
    : `${host.label} is ${stateOf(host)}, and is used as soon as it is ready.`
)

const sandboxesOf = (count: number): string => (count === 1 ? "1 Sandbox" : `${count} Sandboxes`)

/** What stands against it without `--force`; null: nothing. */
const obstacleOf = (host: HostRow): string | null => {
  const { sandboxes, sandboxesUp: up, label } = host
  switch (stateOf(host)) {
    case "lost":
    case "gone":
      return null
    case "draining":
      return up === 0
        ? null
        : `${label} still runs ${sandboxesOf(up)}: wait until atoll hosts list says that it runs none`
    case "cordoned":
      return sandboxes === 0 ? null : `${label} has ${sandboxesOf(sandboxes)}: drain it first`
    default:
      return host.joinedAt === 0
        ? `${label} has never joined, and ${sandboxes === 0 ? "no Sandbox lives" : `${sandboxesOf(sandboxes)} may live`} there: start a host on that data folder`
        : `${label} is ${stateOf(host)}: drain it first`
  }
}

const remove = Command.make(
  "remove",
  {
    host: named,
    force: Flag.Boolean("force").pipe(
      Flag.withDescription("Also one that is used, with whatever runs there"),
      Flag.withDefault(false)
    )
  },
  Effect.fnUntraced(function* ({ host: nameOrId, force }) {
    const before = yield* knownHost(nameOrId)
    yield* notGone(before)
    const obstacle = force ? null : obstacleOf(before)
    if (obstacle !== null) {
      return yield* new Refused({ message: `${obstacle}. --force removes it as it is, and gives up its volumes.` })
    }
    const host = yield* asked(before, force ? "REMOVE_FORCED" : "REMOVE")
    if (host !== null && stateOf(host) !== "gone") {
      return yield* new Refused({ message: `${host.label} is ${stateOf(host)} meanwhile, and was not removed.` })
    }
    const { sandboxes } = before
    const theirs =
      sandboxes === 0
        ? "No Sandbox lived there."
        : `${sandboxesOf(sandboxes)} lived there: their records, logs and outputs can be read, they cannot be started any more, and deleting them ends at once. Their volumes are given up; what is on the machine stays until its folder is removed.`
    const document = hostDocument(
      host ?? { ...before, asked: force ? "REMOVE_FORCED" : "REMOVE" },
      yield* Clock.currentTimeMillis
    )
    yield* answer(
      host === null ? later : `${before.label} is removed for good. ${theirs} Stop its process, if it runs.`,
      {
        host: document
      }
    )
  })
).pipe(
  Command.withDescription(
    "Give a host up for good, with the volumes that are there: one that is lost, drained or empty"
  )
)

export const hosts = Command.make("hosts").pipe(
  Command.withDescription("The hosts of a fleet: how they stand, and which of them are used"),
  Command.withSubcommands([list, cordon, drain, uncordon, remove])
)
