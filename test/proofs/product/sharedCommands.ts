/**
 * What can come of each command of a wallet (`src/wallet/WalletDefinition.ts`), of a host (`src/fleet/HostDefinition.ts`) and of a snapshot
 * (`src/snapshot/SnapshotDefinition.ts`).
 */
import { mayGoOn } from "../../../machines/wallet.ts"
import { NOW } from "../../../src/proofs/explore/canonical.ts"
import type { ActorKind, ActorView, Outcome } from "../../../src/proofs/explore/Product.ts"
import { isBusy, reason, sandboxOf, type View, type World } from "./World.ts"

type Table = ActorKind<World>["commands"]

const graceMs = 60_000
const dayMs = 86_400_000

/** As the ledger reckons it. Without credit the grace runs from when that was first seen. */
const figures = ({ money, isMetered }: World, suspendedAt: number | null, exhaustedAt: number | null) => {
  const runsOutAt = money === "credit" && isMetered ? NOW + dayMs : null
  const status: "exhausted" | "funded" = money === "none" ? "exhausted" : "funded"
  return {
    type: "RECKONED",
    status,
    balanceMicroUsd: 0,
    burnMicroUsdPerHour: isMetered ? 1 : 0,
    grantedMicroUsd: 0,
    exhaustedAt: money === "none" ? (exhaustedAt ?? NOW) : runsOutAt,
    lowAt: null,
    nextAt: runsOutAt,
    suspendedAt: money === "suspended" ? (suspendedAt ?? NOW) : null,
    reckonedAt: NOW,
    graceMs
  }
}

const stopsSandboxes: Table["stopSandboxes"]["outcomes"] = ({ context }, _, product) => {
  const told = figures(product.world, context.suspendedAt, context.exhaustedAt)
  // The stop is due, so what is left of the grace is over by now.
  const isOver = told.status === "exhausted"
  if (!isOver && mayGoOn(told, graceMs)) return [{ label: "they may go on", answer: { type: "CHANGED" } }]
  const tells = sandboxOf(product).tags.has("inhabited") ? [{ to: "sandbox", event: { type: "STOP", reason } }] : []
  return [{ label: "stops them", tells }]
}

export const walletCommands: Table = {
  reckon: {
    lane: null,
    outcomes: ({ context }, _, { world }) => [
      { label: "asks the ledger", answer: figures(world, context.suspendedAt, context.exhaustedAt) },
      ...(world.money === "credit"
        ? [
            {
              label: "asks the ledger, which has little left",
              answer: { ...figures(world, context.suspendedAt, context.exhaustedAt), status: "low" }
            }
          ]
        : [])
    ]
  },
  stopSandboxes: { lane: "stop", outcomes: stopsSandboxes }
}

/** What the host has and shall not have: the supervisor removes it before the host counts as reconciled. */
const isClean = (product: View): boolean => {
  const sandbox = sandboxOf(product)
  const { machine, hasVolume } = product.world
  if (isBusy(sandbox)) return true
  if (sandbox.tags.has("removed")) return machine === null && !hasVolume
  return !(sandbox.tags.has("runtimeless") && machine !== null)
}

const attends: Table["attend"]["outcomes"] = (self, { boot }, product) => {
  const { host } = product.world
  const tells = (label: string, event: { readonly type: string }): ReadonlyArray<Outcome<World>> => [
    { label, tells: [{ to: self.id, event: { boot, ...event } }], goesOn: true }
  ]
  if (!host.isHeard || host.boot !== boot) {
    return tells("reaches nothing", { type: "UNREACHED", reason } as never)
  }
  return isClean(product) ? tells("finds both agree", { type: "RECONCILED" }) : []
}

/** Tells the Sandbox for as long as the host has these states and the Sandbox has, or will get, a runtime. */
const settles = (
  self: ActorView,
  product: View,
  { tag, event, done }: { readonly tag: string; readonly event: object; readonly done: Outcome<World> }
): ReadonlyArray<Outcome<World>> => {
  const { tags, id } = sandboxOf(product)
  const isUnsettled = tags.has("counted") && !tags.has("runtimeless") && !tags.has("volumeless")
  if (!self.tags.has(tag)) return [{ label: "is not wanted any more" }]
  if (!isUnsettled) return [done]
  return [{ label: "tells the Sandbox", tells: [{ to: id, event: event as { readonly type: string } }], goesOn: true }]
}

export const hostCommands: Table = {
  attend: { lane: "supervise", outcomes: attends },
  canary: {
    lane: "canary",
    outcomes: (_, { boot }, { world: { host } }) => [
      ...(host.isHeard && host.boot === boot ? [{ label: "boots", answer: { type: "CANARY_PASSED", boot } }] : []),
      {
        label: "does not boot",
        isFault: host.isHeard && host.boot === boot,
        answer: { type: "CANARY_FAILED", boot, reason }
      }
    ]
  },
  lookAtHost: {
    lane: "lookAtHost",
    outcomes: (_, __, { world: { host } }) => [
      host.isHeard
        ? { label: "it was heard", answer: { type: "SEEN", seenAt: NOW, leaseMs: 60_000 } }
        : { label: "it was not heard", answer: { type: "SILENT", seenAt: NOW - 1, lostAfterMs: 60_000 } }
    ]
  },
  loseSandboxes: {
    lane: "supervise",
    outcomes: (self, { seenAt }, product) =>
      settles(self, product, {
        tag: "absent",
        event: {
          type: "HOST_LOST",
          generation: sandboxOf(product).context.generation,
          reason,
          seenAt
        },
        done: { label: "none is left" }
      })
  },
  drainSandboxes: {
    lane: "drainSandboxes",
    outcomes: (self, _, product) =>
      settles(self, product, {
        tag: "emptied",
        event: { type: "STOP", reason },
        done: { label: "none runs", answer: { type: "DRAINED" } }
      })
  }
}

export const snapshotCommands: Table = {
  captureSnapshot: {
    lane: "image",
    outcomes: ({ context }) => [
      {
        label: "copies the volume",
        answer: { type: "CAPTURED", hostId: context.hostId, sizeBytes: 1, storedBytes: 1, pausedMs: 0 }
      },
      { label: "copies nothing", isFault: true, answer: { type: "CAPTURE_FAILED", reason } }
    ]
  },
  removeSnapshot: { lane: "image", outcomes: () => [{ label: "removes the image", answer: { type: "IMAGE_GONE" } }] },
  meter: {
    lane: null,
    outcomes: (_, __, product) => [
      {
        label: "posts what it stores",
        tells: product.actor("wallet") === null ? [] : [{ to: "wallet", event: { type: "CHANGED" } }]
      }
    ],
    isUrgent: true
  }
}
