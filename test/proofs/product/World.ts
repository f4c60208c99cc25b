/** What is true outside of the actors: the host's machine, the ledger, and what was asked and is not stored yet. */

import { NOW } from "../../../src/proofs/explore/canonical.ts"
import type { ActorView, Happening, ProductView } from "../../../src/proofs/explore/Product.ts"

/** What the host has of each snapshot, by its id. */
export type Images = Readonly<
  Record<
    string,
    {
      /** lost: it was whole, and the host has lost it. */
      readonly has: "none" | "whole" | "lost"
      /** The host copies, perhaps for a command that was superseded. */
      readonly isCopying: boolean
      /** The copy was whole only when its snapshot did not wait for it any more. */
      readonly isStray: boolean
    }
  >
>

export const noImage: Images[string] = { has: "none", isCopying: false, isStray: false }

export interface World {
  /** The Sandbox's machine at its host. */
  readonly machine: { readonly generation: number; readonly isAsleep: boolean } | null
  readonly hasVolume: boolean
  /** A boot that the host goes on with although no command waits for it; of the generation. */
  readonly lateBoot: { readonly generation: number } | null
  /** A death that the host has seen and the service was not told of. */
  readonly death: { readonly generation: number } | null
  /** A request that has seen the Sandbox run, and has stored nothing yet. */
  readonly admitted: { readonly generation: number } | null
  readonly money: "credit" | "none" | "suspended"
  /** The ledger counts a running Sandbox. */
  readonly isMetered: boolean
  /** The operator changed the account, and its wallet was not told. */
  readonly hasNews: boolean
  /** Whether the host's process, of that boot, is heard. */
  readonly host: { readonly boot: string; readonly isHeard: boolean }
  readonly images: Images
  /** The host has the archive that a build made. */
  readonly hasArchive: boolean
  /** A request has seen that the Sandbox can be captured, and has stored no snapshot yet. */
  readonly isCapturing: boolean
  /** Whose volume the snapshots have: the Sandbox's, or that of another one, which is there or not. */
  readonly source: "sandbox" | "there" | "gone"
}

export const firstWorld: World = {
  machine: null,
  hasVolume: false,
  lateBoot: null,
  death: null,
  admitted: null,
  money: "credit",
  isMetered: false,
  hasNews: false,
  host: { boot: "boot-1", isHeard: true },
  images: {},
  hasArchive: false,
  isCapturing: false,
  source: "sandbox"
}

export type View = ProductView<World>
export type Happenings = (product: View) => ReadonlyArray<Happening<World>>

export const sandboxOf = (product: View): ActorView => product.actor("sandbox")!

const bookkeeping = ["meter"]
/** As the reconciler sees it: a command changes its runtime. */
export const isBusy = (sandbox: ActorView): boolean => sandbox.commands.some(({ type }) => !bookkeeping.includes(type))

/** The states of a host with which nothing of it answers, and it is not lost. */
export const standingOf = (product: View): "there" | "silent" | "lost" | "gone" => {
  const host = product.actor("host")
  if (host === null) return "there"
  if (host.tags.has("removed")) return "gone"
  if (host.tags.has("absent")) return "lost"
  return product.world.host.isHeard ? "there" : "silent"
}

/** A call to the host is answered. A lost host that is back answers, too. */
export const answers = (product: View): boolean => {
  const host = product.actor("host")
  return host === null || (product.world.host.isHeard && !host.tags.has("removed"))
}

/** The guest of that generation answers. */
export const hasGuest = (product: View, generation: number): boolean => {
  const { machine } = product.world
  return answers(product) && machine !== null && machine.generation === generation && !machine.isAsleep
}

/** The Sandbox of that generation runs, boots or sleeps. */
export const isInhabited = (product: View, generation: number): boolean => {
  const sandbox = sandboxOf(product)
  return sandbox.context.generation === generation && sandbox.tags.has("inhabited")
}

export const soon = NOW + 60_000
/** One for all: which it is decides nothing. */
export const reason = { code: "REASON", message: "A reason." }
