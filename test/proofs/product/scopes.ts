/** The products that are explored: parts of the whole that share the Sandbox, each small enough for its end or for a good depth. */
import type { AnyStateMachine } from "xstate"
import { connectionGrantMachine } from "../../../machines/connectionGrant.ts"
import { hostMachine } from "../../../machines/host.ts"
import { imageMachine } from "../../../machines/image.ts"
import { isSettled, operationMachine } from "../../../machines/operation.ts"
import { previewMachine } from "../../../machines/preview.ts"
import { sandboxMachine } from "../../../machines/sandbox.ts"
import { serviceAccessMachine } from "../../../machines/serviceAccess.ts"
import { snapshotMachine } from "../../../machines/snapshot.ts"
import { walletMachine } from "../../../machines/wallet.ts"
import { NOW } from "../../../src/proofs/explore/canonical.ts"
import type { ActorKind, ActorView, Product } from "../../../src/proofs/explore/Product.ts"
import { edgeInvariants, livenessOf, stateInvariants } from "../../invariants/ofProduct.ts"
import { archivesReconciler, buildOperation, builtImageCommands, builtImageInput } from "./builtImages.ts"
import {
  checkpointedSandboxCommands,
  checkpointNames,
  clientsOfCheckpoints,
  forgottenCheckpoints,
  supersedeOlder
} from "./checkpoints.ts"
import { accessCommands, grantCommands, operationCommands, previewCommands } from "./dependentCommands.ts"
import {
  accounts,
  admissions,
  asks,
  clientsOfSandbox,
  deaths,
  hostsMachine,
  hostsProcess,
  lifetimeChanges,
  makes,
  operatorOfHost,
  reconciler,
  reports,
  retention,
  stalls
} from "./happenings.ts"
import { clientsOfImages, hostsRoots, imageCommands, imageInput, rootOfSandbox, rootsReconciler } from "./images.ts"
import {
  copiedSandboxCommands,
  meteredSandboxCommands,
  plainSandboxCommands,
  sandboxCommands
} from "./sandboxCommands.ts"
import { hostCommands, walletCommands } from "./sharedCommands.ts"
import {
  clientsOfSnapshots,
  hostsImages,
  imagesReconciler,
  rollsBack,
  snapshotCommands,
  snapshotInput,
  sourceGoes,
  takesSnapshots
} from "./snapshots.ts"
import { firstWorld, type Happenings, type World } from "./World.ts"

/** A product's machines by their ids: a test may put another in the place of one. */
export type Machines = Readonly<Record<string, AnyStateMachine>>

export const ourMachines: Machines = {
  sandbox: sandboxMachine,
  operation: operationMachine,
  preview: previewMachine,
  serviceAccess: serviceAccessMachine,
  connectionGrant: connectionGrantMachine,
  wallet: walletMachine,
  host: hostMachine,
  snapshot: snapshotMachine,
  image: imageMachine
}

interface Part {
  readonly kind: (machines: Machines) => ActorKind<World>
  readonly happenings: ReadonlyArray<Happenings>
}

const sandboxInput = {
  sandboxId: "sandbox",
  accountId: "acc",
  workspaceId: "wsp",
  volumeId: "vol",
  hostId: null,
  name: "s",
  runtime: "namespace",
  profile: { vcpus: 1, memoryBytes: 1, diskBytes: 1 },
  networkEnabled: true,
  metadata: {},
  env: null,
  lifetime: null,
  bootTimeoutMs: 60_000,
  snapshotId: null,
  image: null,
  at: NOW
}

const sandbox: Part = {
  kind: ({ sandbox }) => ({ machine: sandbox!, names: ["sandbox"], input: sandboxInput, commands: sandboxCommands }),
  happenings: [clientsOfSandbox, hostsMachine, reports, reconciler]
}

/** With a host that tells no death and goes on with no boot. */
const plainSandbox: Part = {
  kind: ({ sandbox }) => ({
    machine: sandbox!,
    names: ["sandbox"],
    input: sandboxInput,
    commands: plainSandboxCommands
  }),
  happenings: [clientsOfSandbox, deaths, reconciler]
}

const metered = ({ kind, happenings }: Part): Part => ({
  kind: (machines) => ({ ...kind(machines), commands: meteredSandboxCommands(kind(machines).commands) }),
  happenings
})

const isOver = ({ tags }: ActorView) => tags.has("over")

const operations = (names: ReadonlyArray<string>, timeoutMs: number | null): Part => ({
  kind: ({ operation }) => ({ machine: operation!, names, commands: operationCommands }),
  happenings: [
    makes("operation", names, { timeoutMs }),
    asks(names, { cancels: { type: "CANCEL" } }),
    retention(names, ({ state, context }) => isSettled(state, context))
  ]
})

const previews: Part = {
  kind: ({ preview }) => ({ machine: preview!, names: ["preview"], commands: previewCommands }),
  happenings: [
    makes("preview", ["preview"]),
    asks(["preview"], { closes: { type: "CLOSE" } }),
    retention(["preview"], isOver)
  ]
}

const accesses: Part = {
  kind: ({ serviceAccess }) => ({ machine: serviceAccess!, names: ["access"], commands: accessCommands }),
  happenings: [
    makes("serviceAccess", ["access"]),
    asks(["access"], {
      "of one connects by": { type: "ATTACH", client: "one" },
      "of another connects by": { type: "ATTACH", client: "another" },
      revokes: { type: "REVOKE" }
    }),
    retention(["access"], isOver)
  ]
}

const grants: Part = {
  kind: ({ connectionGrant }) => ({ machine: connectionGrant!, names: ["grant"], commands: grantCommands }),
  happenings: [
    makes("connectionGrant", ["grant"]),
    asks(["grant"], { "connects by": { type: "CONNECT" }, revokes: { type: "REVOKE" } }),
    retention(["grant"], isOver)
  ]
}

const wallet: Part = {
  kind: ({ wallet }) => ({
    machine: wallet!,
    names: ["wallet"],
    input: { accountId: "acc", at: NOW },
    commands: walletCommands
  }),
  happenings: [accounts]
}

const host: Part = {
  kind: ({ host }) => ({
    machine: host!,
    names: ["host"],
    input: { hostId: "host", boot: "boot-1", leaseMs: 60_000, at: NOW },
    commands: hostCommands
  }),
  happenings: [hostsProcess, operatorOfHost]
}

const ofImages = [clientsOfSnapshots, hostsImages, imagesReconciler]

/** Of the product's Sandbox, which a client asks for. */
const snapshotsOfIt = (names: ReadonlyArray<string>): ReadonlyArray<Part> =>
  names.map((name, index) => ({
    // Each is a kind for itself: the world names them, so they are not alike.
    kind: ({ snapshot }) => ({ machine: snapshot!, names: [name], commands: snapshotCommands }),
    happenings: index === 0 ? [...ofImages, takesSnapshots(names)] : []
  }))

/** A Sandbox that takes snapshots by itself, by time and when it stops, and keeps one that is ready. */
const checkpointed: ReadonlyArray<Part> = [
  {
    kind: ({ sandbox }) => ({
      machine: sandbox!,
      names: ["sandbox"],
      input: { ...sandboxInput, checkpoints: { everySeconds: 60, onStop: true, keep: 1 } },
      commands: checkpointedSandboxCommands
    }),
    happenings: [clientsOfSandbox, deaths, reconciler]
  },
  ...checkpointNames.map((name, index) => ({
    kind: ({ snapshot }: Machines) => ({
      machine: snapshot!,
      names: [name],
      commands: { ...snapshotCommands, supersedeOlder }
    }),
    happenings: index === 0 ? [clientsOfCheckpoints, hostsImages, imagesReconciler, forgottenCheckpoints] : []
  }))
]

/** As a fork leaves them when it is accepted: the snapshot is being made, and the Sandbox waits for it. */
const fork: ReadonlyArray<Part> = [
  {
    kind: ({ snapshot }) => ({
      machine: snapshot!,
      names: ["snapshot"],
      input: snapshotInput("snapshot", "source"),
      commands: snapshotCommands
    }),
    happenings: [...ofImages, sourceGoes]
  },
  {
    kind: ({ sandbox }) => ({
      machine: sandbox!,
      names: ["sandbox"],
      input: { ...sandboxInput, snapshotId: "snapshot" },
      commands: copiedSandboxCommands
    }),
    happenings: [clientsOfSandbox, deaths, reconciler]
  }
]

/** A Sandbox with an image, whose deletion may be asked for at any time. */
const rooted: ReadonlyArray<Part> = [
  {
    kind: ({ image }) => ({ machine: image!, names: ["image"], input: imageInput, commands: imageCommands }),
    happenings: [clientsOfImages, hostsRoots, rootsReconciler]
  },
  {
    kind: ({ sandbox }) => ({
      machine: sandbox!,
      names: ["sandbox"],
      input: { ...sandboxInput, image: rootOfSandbox },
      commands: plainSandboxCommands
    }),
    happenings: [clientsOfSandbox, deaths, reconciler]
  }
]

/** As `POST /images` leaves them: the image is to be built, and its Sandbox boots. */
const built: ReadonlyArray<Part> = [
  {
    kind: ({ image }) => ({ machine: image!, names: ["image"], input: builtImageInput, commands: builtImageCommands }),
    happenings: [clientsOfImages, rootsReconciler, archivesReconciler]
  },
  {
    kind: ({ sandbox }) => ({
      machine: sandbox!,
      names: ["sandbox"],
      input: { ...sandboxInput, buildsImageId: "image" },
      commands: plainSandboxCommands
    }),
    happenings: [clientsOfSandbox, deaths, reconciler]
  },
  {
    kind: ({ operation }) => ({ machine: operation!, names: [buildOperation], commands: operationCommands }),
    happenings: [asks([buildOperation], { cancels: { type: "CANCEL" } })]
  }
]

/** One that was ready before, and the volume that a rollback to it replaces. */
const rollback: ReadonlyArray<Part> = [
  ...snapshotsOfIt(["snapshot"]),
  {
    kind: ({ snapshot }) => ({ machine: snapshot!, names: ["kept"], commands: snapshotCommands }),
    happenings: [rollsBack("snapshot", "kept")]
  }
]

interface Scope {
  readonly sentence: string
  readonly parts: ReadonlyArray<Part>
  readonly more?: ReadonlyArray<Happenings>
  readonly lateMax: number
  readonly world?: Partial<World>
}

const scopes = {
  sandbox: { sentence: "a Sandbox, answers that are late, boots that are given up", parts: [sandbox], lateMax: 1 },
  lifetimes: {
    sentence: "a Sandbox with lifetimes that change, and a host that stalls",
    parts: [plainSandbox],
    more: [lifetimeChanges, stalls],
    lateMax: 0
  },
  operations: {
    sentence: "a Sandbox with two operations",
    parts: [plainSandbox, operations(["operation1", "operation2"], 60_000)],
    more: [admissions],
    lateMax: 0
  },
  operation: {
    sentence: "a Sandbox with an operation, and answers that are late",
    parts: [plainSandbox, operations(["operation1"], 60_000)],
    more: [admissions],
    lateMax: 1
  },
  preview: {
    sentence: "a Sandbox with a preview, and answers that are late",
    parts: [plainSandbox, previews],
    more: [admissions],
    lateMax: 1
  },
  access: {
    sentence: "a Sandbox with a service access and a connection grant",
    parts: [plainSandbox, accesses, grants],
    more: [admissions],
    lateMax: 0
  },
  money: {
    sentence: "a Sandbox with its account's wallet, and answers that are late",
    parts: [metered(plainSandbox), wallet],
    lateMax: 1
  },
  fleet: { sentence: "a Sandbox on a host of a fleet", parts: [plainSandbox, host], lateMax: 0 },
  snapshots: {
    sentence: "a Sandbox with two snapshots, and answers that are late",
    parts: [plainSandbox, ...snapshotsOfIt(["snapshot1", "snapshot2"])],
    lateMax: 1
  },
  rollback: {
    sentence: "a Sandbox that is rolled back to a snapshot, and the snapshot of its volume before",
    parts: [plainSandbox, ...rollback],
    lateMax: 0
  },
  fork: {
    sentence: "a snapshot that is being made, a Sandbox of it, and answers that are late",
    parts: fork,
    lateMax: 1,
    world: { source: "there" }
  },
  images: {
    sentence: "an image, a Sandbox that has it, and answers that are late",
    parts: rooted,
    lateMax: 1
  },
  build: {
    sentence: "an image, the Sandbox and the operation that build it, and answers that are late",
    parts: built,
    lateMax: 1
  },
  checkpoints: {
    sentence: "a Sandbox that takes checkpoints, by time and when it stops",
    parts: checkpointed,
    lateMax: 0
  },
  whole: {
    sentence: "all of them together",
    parts: [
      metered(sandbox),
      operations(["operation1", "operation2"], 60_000),
      previews,
      accesses,
      grants,
      wallet,
      host
    ],
    more: [admissions, lifetimeChanges, stalls],
    lateMax: 1
  }
} as const satisfies Readonly<Record<string, Scope>>

export type ScopeName = keyof typeof scopes
export const scopeNames = Object.keys(scopes) as ReadonlyArray<ScopeName>
export const sentenceOf = (name: ScopeName): string => scopes[name].sentence

export const productOf = (name: ScopeName, machines: Machines = ourMachines): Product<World> => {
  const { parts, lateMax, world, ...rest } = scopes[name] as Scope
  const happenings = [...parts.flatMap((part) => part.happenings), ...(rest.more ?? [])]
  const kinds = parts.map(({ kind }) => kind(machines))
  return {
    name,
    kinds,
    world: { ...firstWorld, ...world },
    happenings: (product) => happenings.flatMap((list) => list(product)),
    counters: ["generation", "edition"],
    lateMax,
    states: stateInvariants,
    edges: edgeInvariants,
    liveness: livenessOf(kinds.map(({ machine }) => machine.id))
  }
}
