/**
 * What can come of each command of a Sandbox: of `src/sandbox/SandboxDefinition.ts`, `bootSandbox.ts`, `sandboxEnd.ts`, `sandboxIdleness.ts`,
 * over a driver that behaves as `src/host/simulated/SimulatedRuntime.ts`.
 */
import { hasNeverRun, openRollback } from "../../../machines/sandbox.ts"
import { wasReady } from "../../../machines/snapshot.ts"
import { NOW } from "../../../src/proofs/explore/canonical.ts"
import type { ActorKind, Outcome } from "../../../src/proofs/explore/Product.ts"
import { bootsOf } from "./snapshots.ts"
import { answers, reason, soon, standingOf, type View, type World } from "./World.ts"

type Table = ActorKind<World>["commands"]

const lost = (generation: number) => ({
  type: "HOST_LOST",
  generation,
  reason,
  seenAt: NOW - 1
})

/** Something uses the Sandbox: an operation has a command to run. */
const isUsed = (product: View) =>
  product.actors.some(({ kind, commands }) => kind === "operation" && commands.length > 0)

/** Open dependents of the generation and earlier ones, and the event for each kind. */
const endings = (product: View, generation: number) =>
  product.actors
    .filter(
      ({ kind, tags, context }) =>
        !["sandbox", "host", "wallet"].includes(kind) && tags.has("open") && context.generation <= generation
    )
    .map(({ id, kind }) => ({
      to: id,
      event: { type: kind === "operation" ? "LOST" : "SANDBOX_ENDED", reason }
    }))

const bootsPlainly: Table["provision"]["outcomes"] = ({ context }, _, product) => {
  const { generation } = context
  const { world } = product
  const standing = standingOf(product)
  if (standing === "lost" || standing === "gone") return [{ label: "the host is lost", answer: lost(generation) }]
  if (standing === "silent") return []
  const isNewer = world.machine !== null && world.machine.generation > generation
  const up: Outcome<World> = {
    label: "boots",
    ...(isNewer ? {} : { world: { ...world, machine: { generation, isAsleep: false }, hasVolume: true } }),
    answer: { type: "RUNTIME_UP", generation }
  }
  return [
    up,
    {
      label: "a limit refuses",
      isFault: true,
      ...(hasNeverRun(context) ? { world: { ...world, machine: null, hasVolume: false } } : {}),
      answer: { type: "RUNTIME_REFUSED", generation, reason }
    },
    {
      label: "fails",
      isFault: true,
      world: { ...world, hasVolume: true },
      answer: { type: "RUNTIME_FAILED", generation, reason }
    }
  ]
}

/** The boot may also wait for its turn, or be given up while the host goes on with it. */
const boots: Table["provision"]["outcomes"] = (self, params, product) => {
  const { generation } = self.context
  const { world } = product
  const plainly = bootsPlainly(self, params, product)
  if (!answers(product)) return plainly
  return [
    ...plainly,
    {
      label: "waits for its turn",
      tells: [{ to: "sandbox", event: { type: "BOOT_WAITS", generation, until: soon } }],
      goesOn: true
    },
    ...(world.lateBoot === null && world.machine === null
      ? [
          {
            label: "seems to fail, and the host goes on",
            isFault: true,
            world: { ...world, lateBoot: { generation } },
            answer: { type: "RUNTIME_FAILED", generation, reason }
          }
        ]
      : [])
  ]
}

const stops: Table["stopRuntime"]["outcomes"] = (_, { generation }, product) => {
  const { world } = product
  const standing = standingOf(product)
  if (!answers(product)) {
    return standing === "lost" || standing === "gone" ? [{ label: "the host is lost", answer: lost(generation) }] : []
  }
  const ends = world.machine !== null && world.machine.generation <= generation
  return [
    {
      label: "ends the runtime",
      ...(ends ? { world: { ...world, machine: null } } : {}),
      answer: { type: "RUNTIME_STOPPED", generation }
    }
  ]
}

/** `restoreVolume.ts`: it waits for the snapshot of the present volume, and ends what a late boot has left. */
const restores: Table["restoreVolume"]["outcomes"] = ({ context }, { generation }, product) => {
  const { world } = product
  const rollback = openRollback(context)
  if (rollback === null) return [{ label: "the rollback is over" }]
  const failed = { type: "ROLLBACK_FAILED", generation, reason }
  const kept = rollback.keptId === null ? null : product.actor(rollback.keptId)
  if (kept?.tags.has("awaited")) return []
  if (kept !== null && !wasReady(kept.context as never)) return [{ label: "keeps nothing", answer: failed }]
  if (!answers(product)) {
    const standing = standingOf(product)
    return standing === "lost" || standing === "gone" ? [{ label: "the host is lost", answer: lost(generation) }] : []
  }
  const ended = world.machine !== null && world.machine.generation <= generation ? { ...world, machine: null } : world
  if (!world.hasVolume || product.world.images[rollback.snapshotId]?.has !== "whole") {
    return [{ label: "finds no image", world: ended, answer: failed }]
  }
  return [
    { label: "replaces the volume", world: ended, answer: { type: "VOLUME_RESTORED", generation } },
    { label: "has no room", isFault: true, world: ended, answer: failed }
  ]
}

const destroys: Table["destroyRuntime"]["outcomes"] = (_, __, product) => {
  const { world } = product
  if (!answers(product) && standingOf(product) !== "gone") return []
  return [
    {
      label: "removes everything",
      world: { ...world, machine: null, hasVolume: false },
      answer: { type: "VOLUME_GONE" }
    }
  ]
}

const suspends: Table["suspendRuntime"]["outcomes"] = (_, { generation }, product) => {
  const { world } = product
  const failed = { type: "SUSPEND_FAILED", generation, reason }
  if (isUsed(product)) return [{ label: "it is used again", answer: failed }]
  if (!answers(product) || world.machine?.generation !== generation) return [{ label: "fails", answer: failed }]
  const frozen = { ...world, machine: { generation, isAsleep: true } }
  return [
    { label: "freezes the runtime", world: frozen },
    { label: "fails", isFault: true, answer: failed },
    { label: "seems to fail", isFault: true, world: frozen, answer: failed }
  ]
}

const looksAtUse: Table["lookAtUse"]["outcomes"] = (_, __, product) => [
  { label: "it is used", answer: { type: "IN_USE", until: soon } },
  { label: "Sandboxes do not sleep here" },
  ...(isUsed(product) ? [] : [{ label: "it is idle", answer: { type: "SLEEP" } }])
]

const looksAtIdleness: Table["lookAtIdleness"]["outcomes"] = ({ context }, { idleStopAt }, product) => {
  if (idleStopAt === null || (context.lifetime?.stopAfterIdleSeconds ?? null) === null)
    return [{ label: "nothing to do" }]
  return [
    { label: "it was used", answer: { type: "WAS_USED", idleStopAt, usedAt: NOW } },
    ...(isUsed(product) ? [] : [{ label: "it was idle", answer: { type: "WAS_IDLE", idleStopAt } }])
  ]
}

const meters: Table["meter"]["outcomes"] = ({ tags }, _, product) => [
  {
    label: "posts",
    world: { ...product.world, isMetered: tags.has("up") },
    tells: product.actor("wallet") === null ? [] : [{ to: "wallet", event: { type: "CHANGED" } }]
  }
]

export const sandboxCommands: Table = {
  provision: { lane: "runtime", outcomes: boots },
  stopRuntime: { lane: "runtime", outcomes: stops },
  restoreVolume: { lane: "runtime", outcomes: restores },
  leaveRuntime: { lane: "runtime", outcomes: () => [{ label: "frees its room" }], isUrgent: true },
  destroyRuntime: { lane: "runtime", outcomes: destroys },
  suspendRuntime: { lane: "runtime", outcomes: suspends },
  // It asks the host, and answers nothing.
  resizeRuntime: { lane: "sizes", outcomes: () => [{ label: "gives it its sizes" }], isUrgent: true },
  lookAtUse: { lane: "runtime", outcomes: looksAtUse },
  lookAtIdleness: { lane: "idleness", outcomes: looksAtIdleness },
  // Without checkpoints, which `checkpoints.ts` has, nothing asks for it.
  takeCheckpoint: { lane: "checkpoint", outcomes: () => [{ label: "has no place for it" }] },
  meter: { lane: null, outcomes: meters, isUrgent: true },
  closeDependents: {
    lane: null,
    outcomes: (_, { generation }, product) => [{ label: "tells them", tells: endings(product, generation) }]
  }
}

/** The same over a host whose boots end when their commands do. */
export const plainSandboxCommands: Table = {
  ...sandboxCommands,
  provision: { lane: "runtime", outcomes: bootsPlainly }
}

/** The same of a Sandbox that may be made of a snapshot. */
export const copiedSandboxCommands: Table = {
  ...sandboxCommands,
  provision: { lane: "runtime", outcomes: bootsOf(bootsPlainly) }
}

/** Where a wallet hears of each post, its order matters. */
export const meteredSandboxCommands = (commands: Table): Table => ({
  ...commands,
  meter: { lane: null, outcomes: meters }
})
