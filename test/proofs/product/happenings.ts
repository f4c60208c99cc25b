/** What happens without a command: what clients and the operator ask for, what the world does, and what the service finds by looking. */

import { removalObstacle } from "../../../machines/hostRemoval.ts"
import { NOW } from "../../../src/proofs/explore/canonical.ts"
import type { ActorView, Happening } from "../../../src/proofs/explore/Product.ts"
import { answers, type Happenings, isBusy, reason, sandboxOf, standingOf, type View, type World } from "./World.ts"

type Event = { readonly type: string; readonly [field: string]: unknown }

const client = (to: string, event: Event, label: string): Happening<World> => ({
  by: "client",
  label,
  tells: [{ to, event }]
})

/** Where this many closings wait already, no client starts the Sandbox: without such a bound there would be states without end. */
const closingsMax = 1

/** `src/sandbox/startSandbox.ts`, `sandboxChanges.ts`: a start needs credit, and a host that takes it. */
export const clientsOfSandbox: Happenings = (product) => {
  const host = product.actor("host")
  const closings = sandboxOf(product).commands.filter(({ type }) => type === "closeDependents")
  const mayStart =
    closings.length <= closingsMax && product.world.money === "credit" && (host === null || host.tags.has("startable"))
  return [
    ...(mayStart ? [client("sandbox", { type: "START" }, "a client starts it")] : []),
    client("sandbox", { type: "STOP" }, "a client stops it"),
    client("sandbox", { type: "DELETE" }, "a client deletes it")
  ]
}

const lifetimes = [
  null,
  { stopAfterSeconds: 3_600, stopAfterIdleSeconds: 600, deleteAfterStoppedSeconds: 86_400 },
  { stopAfterSeconds: null, stopAfterIdleSeconds: null, deleteAfterStoppedSeconds: 86_400 }
]

/** A change speaks of the edition that the client has seen, which may be an older one. */
export const lifetimeChanges: Happenings = (product) => {
  const { edition } = sandboxOf(product).context
  const change = (lifetime: unknown, seen: number, label: string) =>
    client("sandbox", { type: "CHANGED", edition: seen, changes: { lifetime } }, label)
  return [
    ...lifetimes.map((lifetime, index) => change(lifetime, edition, `a client sets the lifetime ${index}`)),
    change(lifetimes[1], edition - 1, "a client changes what it saw before another change")
  ]
}

/** A request sees the Sandbox run, and stores what it makes later: the Sandbox may have ended by then. */
export const admissions: Happenings = (product) => {
  const { world } = product
  const sandbox = sandboxOf(product)
  if (world.admitted !== null || !sandbox.tags.has("up")) return []
  const { generation } = sandbox.context
  return [{ by: "client", label: "a request finds it running", world: { ...world, admitted: { generation } } }]
}

const made: Readonly<Record<string, (generation: number) => object>> = {
  operation: (generation) => ({
    operationId: "op",
    accountId: "acc",
    sandboxId: "sandbox",
    generation,
    timeoutMs: null
  }),
  preview: (generation) => ({
    previewSha256: "p",
    accountId: "acc",
    sandboxId: "sandbox",
    generation,
    port: 80,
    lifetimeMs: 3_600_000
  }),
  serviceAccess: (generation) => ({
    generationId: "access",
    accountId: "acc",
    sandboxId: "sandbox",
    generation,
    ports: [80],
    requestedAt: NOW,
    lifetimeMs: 3_600_000
  }),
  connectionGrant: (generation) => ({
    endpointId: "grant",
    accountId: "acc",
    sandboxId: "sandbox",
    generation,
    publicKeys: [],
    grantMs: 60_000
  })
}

/** What the request stores; in the first free place of the kind. */
export const makes =
  (kind: string, names: ReadonlyArray<string>, more: object = {}): Happenings =>
  (product) => {
    const { world } = product
    const free = names.find((name) => product.actor(name) === null)
    if (world.admitted === null || free === undefined) return []
    const input = { ...made[kind]!(world.admitted.generation), ...more, at: NOW }
    const label = `the request stores ${kind === "operation" ? "an" : "a"} ${kind}`
    return [{ by: "service", label, world: { ...world, admitted: null }, makes: [{ name: free, input }] }]
  }

/** Retention forgets what is over; so there is room for the next one. */
export const retention =
  (names: ReadonlyArray<string>, isOver: (actor: ActorView) => boolean): Happenings =>
  (product) =>
    names.flatMap((name): ReadonlyArray<Happening<World>> => {
      const actor = product.actor(name)
      if (actor === null || !isOver(actor) || actor.commands.length > 0 || actor.late.length > 0) return []
      return [{ by: "service", label: `${name} is forgotten after its retention`, removes: [name], isUrgent: true }]
    })

/** A client asks this of each of them that there is. */
export const asks =
  (names: ReadonlyArray<string>, events: Readonly<Record<string, Event>>): Happenings =>
  (product) =>
    names.flatMap((name) =>
      product.actor(name) === null
        ? []
        : Object.entries(events).map(([what, event]) => client(name, event, `a client ${what} ${name}`))
    )

/** A death of which only the reconciler learns. */
export const deaths: Happenings = ({ world }) =>
  world.machine === null ? [] : [{ by: "fault", label: "the runtime dies", world: { ...world, machine: null } }]

/** What the host does by itself: a death, of which it tells later, and a boot that was given up. */
export const hostsMachine: Happenings = ({ world }) => {
  const { machine, lateBoot, death } = world
  const found: Array<Happening<World>> = []
  if (machine !== null) {
    const { generation } = machine
    found.push({
      by: "fault",
      label: "the runtime dies",
      world: { ...world, machine: null, ...(death === null ? { death: { generation } } : {}) }
    })
  }
  if (lateBoot !== null) {
    const { generation } = lateBoot
    const isTaken = machine !== null && machine.generation >= generation
    found.push({
      by: "world",
      label: "a boot that was given up comes up",
      world: {
        ...world,
        lateBoot: null,
        ...(isTaken ? {} : { machine: { generation, isAsleep: false }, hasVolume: true })
      }
    })
  }
  return found
}

/** `RuntimeNews`: the host's own report of a death, at any time after it. */
export const reports: Happenings = (product) => {
  const { world } = product
  if (world.death === null || !answers(product)) return []
  const { generation } = world.death
  const event = { type: "RUNTIME_DOWN", generation, reason }
  return [
    {
      by: "service",
      label: "the host reports the death",
      world: { ...world, death: null },
      tells: [{ to: "sandbox", event }]
    }
  ]
}

const find = (label: string, event: Event): Happening<World> => ({
  by: "service",
  label: `the reconciler finds ${label}`,
  tells: [{ to: "sandbox", event }]
})

/** `HostReconciler`: compares what the host has with what the Sandbox is; it leaves one alone whose runtime a command changes. */
export const reconciler: Happenings = (product) => {
  const { world } = product
  const sandbox = sandboxOf(product)
  if (isBusy(sandbox) || !answers(product) || standingOf(product) === "lost") return []
  const { machine, hasVolume } = world
  const { tags, context } = sandbox
  if (tags.has("removed")) {
    if (machine === null && !hasVolume) return []
    return [
      {
        by: "service",
        label: "the reconciler removes what is left",
        world: { ...world, machine: null, hasVolume: false }
      }
    ]
  }
  const found: Array<Happening<World>> = []
  if (machine !== null && (tags.has("runtimeless") || (tags.has("asleep") && !machine.isAsleep))) {
    found.push(find("a runtime that should not run", { type: "RUNTIME_FOUND" }))
  }
  if (!tags.has("alive")) return found
  const { generation } = context
  if (machine?.generation !== generation) {
    found.push(find("no runtime", { type: "RUNTIME_DOWN", generation, reason }))
  } else if (machine?.isAsleep === true && tags.has("up")) {
    found.push(find("it frozen", { type: "SLEEP" }))
  }
  return found
}

export const stalls: Happenings = (product) => {
  const { world } = product
  if (world.machine === null || !answers(product)) return []
  const { generation } = world.machine
  const told = (event: Event, label: string): Happening<World> => ({
    by: "world",
    label,
    tells: [{ to: "sandbox", event }]
  })
  return [
    told({ type: "RUNTIME_STALLED", generation, reason }, "the host holds the runtime up"),
    told({ type: "RUNTIME_RESUMED", generation }, "the runtime goes on")
  ]
}

/** The operator, the passing of time, and the outbox that tells the wallet. */
export const accounts: Happenings = ({ world }) => {
  const becomes = (by: Happening<World>["by"], label: string, money: World["money"], hasNews: boolean) =>
    world.money === money ? [] : [{ by, label, world: { ...world, money, hasNews: world.hasNews || hasNews } }]
  const runsOut = world.money === "credit" && world.isMetered
  return [
    ...(runsOut ? becomes("fault", "the credit runs out", "none", false) : []),
    ...becomes("client", "the operator grants credit", "credit", true),
    ...becomes("client", "the operator suspends the account", "suspended", true),
    ...(world.hasNews
      ? [
          {
            by: "service" as const,
            label: "the outbox tells the wallet",
            world: { ...world, hasNews: false },
            tells: [{ to: "wallet", event: { type: "CHANGED" } }]
          }
        ]
      : [])
  ]
}

/** Processes of a host come in turn: there are at most two at a time that anything speaks of. */
const nextBoot = (boot: string) => (boot === "boot-1" ? "boot-2" : "boot-1")

export const hostsProcess: Happenings = (product) => {
  const { world } = product
  const host = product.actor("host")
  if (host === null || host.tags.has("removed")) return []
  const { boot, isHeard } = world.host
  const heard = (next: World["host"]) => ({ ...world, host: next })
  const joins = (of: string): Event => ({ type: "JOINED", boot: of, leaseMs: 60_000 })
  const restarted = nextBoot(boot)
  const boots = (type: "BOOTS_FAIL" | "BOOTS_WORK", label: string): Happening<World> => ({
    by: "fault",
    label,
    tells: [{ to: "host", event: { type, boot, reason } }]
  })
  /** `HostJoins.beat`: each heartbeat of a host that does not count as heard of sends SEEN. */
  const beats: ReadonlyArray<Happening<World>> =
    isHeard && !host.tags.has("heard")
      ? [
          {
            by: "service",
            label: "a heartbeat of the host arrives",
            tells: [{ to: "host", event: { type: "SEEN", leaseMs: 60_000 } }]
          }
        ]
      : []
  return [
    ...beats,
    ...(isHeard
      ? [
          { by: "fault" as const, label: "the host is cut off", world: heard({ boot, isHeard: false }) },
          boots("BOOTS_FAIL", "boots of other Sandboxes fail there"),
          boots("BOOTS_WORK", "a boot of another Sandbox works there")
        ]
      : [
          { by: "world" as const, label: "heartbeats of the host arrive again", world: heard({ boot, isHeard: true }) },
          {
            by: "world" as const,
            label: "the host is there again, and joins",
            world: heard({ boot, isHeard: true }),
            tells: [{ to: "host", event: joins(boot) }]
          }
        ]),
    {
      by: "fault",
      label: "the host's process starts again",
      world: heard({ boot: restarted, isHeard: true }),
      tells: [{ to: "host", event: joins(restarted) }]
    },
    ...(isHeard
      ? [
          {
            by: "fault" as const,
            label: "the host's process ends in order",
            world: heard({ boot, isHeard: false }),
            tells: [{ to: "host", event: { type: "LEFT", boot, lostAfterMs: 60_000 } }]
          }
        ]
      : [])
  ]
}

/** `src/fleet/Hosts.ts`: a removal without force asks what stands against it first. */
export const operatorOfHost: Happenings = (product: View) => {
  const host = product.actor("host")
  if (host === null) return []
  const { tags } = sandboxOf(product)
  const counts = {
    all: tags.has("removed") ? 0 : 1,
    up: tags.has("counted") && !tags.has("runtimeless") && !tags.has("volumeless") ? 1 : 0
  }
  const may = removalObstacle(host.state, counts) === null
  return [
    client("host", { type: "CORDON" }, "the operator cordons the host"),
    client("host", { type: "DRAIN" }, "the operator drains the host"),
    client("host", { type: "UNCORDON" }, "the operator uncordons the host"),
    client("host", { type: "REMOVE", isForced: true }, "the operator removes the host by force"),
    ...(may ? [client("host", { type: "REMOVE", isForced: false }, "the operator removes the host")] : [])
  ]
}
