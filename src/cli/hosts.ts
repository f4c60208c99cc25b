/** `atoll hosts list|cordon|drain|uncordon|remove` */
import { Clock, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { onlyHere } from "../../machines/hostRemoval.ts"
import type { Asked } from "../../schemas/console/Hosts.ts"
import { noteInstallation } from "../account/OperatorAudit.ts"
import { Refused } from "../console/server/operating/refusals.ts"
import { removeHost, type Wish, wishOfHost } from "../fleet/askHost.ts"
import { type HostRow, Hosts, onlyHereOf } from "../fleet/Hosts.ts"
import { hostDocument, hostState } from "../fleet/hostDocument.ts"
import { isClosed, isEmptied, isPlaceable, isRemovedHost } from "../fleet/hostStates.ts"
import { answer } from "./answer.ts"
import { table } from "./table.ts"

const gib = 1024 ** 3

const wishWords: Readonly<Record<Asked, string>> = {
  CORDON: "cordon",
  DRAIN: "drain",
  UNCORDON: "uncordon",
  REMOVE: "remove",
  REMOVE_FORCED: "remove --force"
}

/** The reason for the host's state, and what comes next. */
const remarkOf = (host: HostRow): string => {
  const remarks = [
    ...(host.reason === null ? [] : [host.reason.message]),
    ...(host.networkRefused === null ? [] : [`No network: ${host.networkRefused}.`]),
    ...(host.sandboxesMissing === 0 ? [] : [`${host.sandboxesMissing} of its volumes are missing.`]),
    ...onlyHere(onlyHereOf(host)),
    ...(host.wish === null || host.wish === "open" || host.wish === hostState(host)
      ? []
      : [`Requested state: ${host.wish}.`]),
    ...(host.asked === null ? [] : [`No service has received this request yet: ${wishWords[host.asked]}.`])
  ]
  return remarks.join(" ") || "-"
}

const shown = (bytes: number): string => (bytes / gib).toFixed(bytes < 10 * gib ? 1 : 0)

const agoOf = (ms: number): string => {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 120) return `${seconds} s ago`
  if (seconds < 2 * 3600) return `${Math.round(seconds / 60)} min ago`
  return seconds < 48 * 3600 ? `${Math.round(seconds / 3600)} h ago` : `${Math.round(seconds / 86_400)} d ago`
}

const hostTable = (hosts: ReadonlyArray<HostRow>, now: number): string =>
  hosts.length === 0
    ? "No host has joined. With ATOLL_ROLE=all there is only this one; hosts of a fleet join with ATOLL_ROLE=host and ATOLL_FLEET_JOIN."
    : table(
        ["ID", "STATE", "KIND", "SANDBOXES", "VCPUS", "MEMORY GIB", "DISK GIB", "SEEN", "LABEL", "REMARK"],
        hosts.map((host) => [
          host.id,
          hostState(host),
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
  { all: Flag.Boolean("all").pipe(Flag.withDescription("Include removed hosts"), Flag.withDefault(false)) },
  Effect.fnUntraced(function* ({ all }) {
    const hosts = (yield* (yield* Hosts).list).filter((host) => all || !isRemovedHost(host.state))
    const now = yield* Clock.currentTimeMillis
    yield* answer(hostTable(hosts, now), { hosts: hosts.map((host) => hostDocument(host, now)) })
  })
).pipe(Command.withDescription("List the hosts of the fleet: state, reservations, and reasons"))

const named = Argument.String("host").pipe(Argument.withDescription("Its id, the beginning of it, or its label"))

const knownHost = Effect.fnUntraced(function* (name: string) {
  const hosts = yield* (yield* Hosts).list
  // The host chooses its label, which may be the id of another host.
  const called = hosts.filter(({ id }) => id === name)
  const exact = called.length > 0 ? called : hosts.filter(({ label }) => label === name)
  const found = exact.length > 0 ? exact : hosts.filter(({ id }) => id.startsWith(name) && name.length > "host_".length)
  if (found.length === 1) return found[0]!
  return yield* new Refused({
    message:
      found.length === 0
        ? `There is no host ${JSON.stringify(name)}. atoll hosts list shows them.`
        : `${JSON.stringify(name)} matches ${found.length} hosts: ${found.map(({ id }) => id).join(", ")}. Give one id.`
  })
})

const later = "No service has received it within 3 s: it takes effect as soon as one runs."

const wishCommand = (
  name: "cordon" | "drain" | "uncordon",
  wish: Wish,
  description: string,
  told: (host: HostRow) => string
) =>
  Command.make(
    name,
    { host: named },
    Effect.fnUntraced(function* ({ host: nameOrId }) {
      const before = yield* knownHost(nameOrId)
      const host = yield* wishOfHost(before, wish)
      yield* noteInstallation(`${name}Host`, before.id)
      const document = hostDocument(host ?? { ...before, asked: wish }, yield* Clock.currentTimeMillis)
      yield* answer(host === null ? later : told(host), { host: document })
    })
  ).pipe(Command.withDescription(description))

const cordon = wishCommand("cordon", "CORDON", "Place no new Sandboxes on a host; those that it has go on", (host) =>
  isClosed(host.state)
    ? `${host.label} gets no new Sandboxes. Those that it has go on, and can be started.`
    : `${host.label} is ${hostState(host)}, and gets no new Sandboxes when it is there either.`
)

const drain = wishCommand(
  "drain",
  "DRAIN",
  "Stop the Sandboxes of a host, keep their volumes, start none there, and copy its snapshots and uploaded images to other hosts",
  (host) =>
    isEmptied(host.state)
      ? `${host.label} is drained: ${host.sandboxesUp} Sandboxes are being stopped, their volumes are kept, and its snapshots and uploaded images are copied to other hosts. atoll hosts list says when none runs there; atoll hosts uncordon undoes it.`
      : `${host.label} is ${hostState(host)}, and is drained as soon as it is there.`
)

const uncordon = wishCommand("uncordon", "UNCORDON", "Use a host again that was cordoned or drained", (host) =>
  isPlaceable(host.state)
    ? `${host.label} gets new Sandboxes again. Their owners start those that were stopped there.`
    : `${host.label} is ${hostState(host)}, and is used as soon as it is ready.`
)

const sandboxesOf = (count: number): string => (count === 1 ? "1 Sandbox" : `${count} Sandboxes`)

const remove = Command.make(
  "remove",
  {
    host: named,
    force: Flag.Boolean("force").pipe(
      Flag.withDescription("Also remove a host that is in use, with its running Sandboxes"),
      Flag.withDefault(false)
    )
  },
  Effect.fnUntraced(function* ({ host: nameOrId, force }) {
    const before = yield* knownHost(nameOrId)
    const host = yield* removeHost(before, force).pipe(
      Effect.mapError(({ why, message }) => {
        const more = why === "used" ? ". --force removes it anyway, and gives up its volumes." : ""
        return new Refused({ message: `${message}${more}` })
      })
    )
    yield* noteInstallation("removeHost", before.id)
    const { sandboxes } = before
    const theirs =
      sandboxes === 0
        ? "No Sandbox lived there."
        : `${sandboxesOf(sandboxes)} lived there: their records, logs and outputs can be read, but they cannot be started any more, and deleting them takes effect immediately. Their volumes are given up; the files on the machine stay until its folder is removed.`
    const document = hostDocument(
      host ?? { ...before, asked: force ? "REMOVE_FORCED" : "REMOVE" },
      yield* Clock.currentTimeMillis
    )
    yield* answer(
      host === null ? later : `${before.label} is permanently removed. ${theirs} Stop its process, if it runs.`,
      {
        host: document
      }
    )
  })
).pipe(Command.withDescription("Remove a host permanently, with its volumes: one that is lost, drained or empty"))

export const hosts = Command.make("hosts").pipe(
  Command.withDescription("The hosts of a fleet: their state, and which of them are used"),
  Command.withSubcommands([list, cordon, drain, uncordon, remove])
)
