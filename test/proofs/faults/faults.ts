/** Faults that an exploration must find: each with the scope in which it shows, and the sentence that it breaks. */
import type { AnyStateMachine } from "xstate"
import { ourMachines, type ScopeName } from "../product/scopes.ts"
import { planted, type StateConfig, without, withoutEvent } from "./planted.ts"

export interface Fault {
  readonly name: string
  readonly scope: ScopeName
  readonly breaks: string
  readonly machine: AnyStateMachine
  /** So many steps are explored: enough to see the invariant broken, or that no path leads on. */
  readonly depth: number
  /** No answer is late: that leaves fewer states. */
  readonly isPrompt: boolean
}

const usualDepth = 7

type Plant = Parameters<typeof planted>[1]

const fault = (
  name: string,
  scope: ScopeName,
  machine: string,
  breaks: string,
  plant: Plant,
  { depth = usualDepth, isPrompt = false }: Partial<Fault> = {}
): Fault => ({
  name,
  scope,
  breaks,
  machine: planted(ourMachines[machine]!, plant),
  depth,
  isPrompt
})

const again = (state: StateConfig, target: string) => {
  state.on["EXITED"] = { target, actions: ["noteExit"], description: "Planted." }
}

export const faults: ReadonlyArray<Fault> = [
  fault(
    "a guard that takes every generation for the present one",
    "sandbox",
    "sandbox",
    "What is said of another generation changes nothing in a Sandbox.",
    ({ guards }) => {
      guards["isCurrent"] = () => true
    }
  ),
  fault(
    "a stop that closes nothing",
    "preview",
    "sandbox",
    "A preview, access or grant is usable only while its generation lives, or its Sandbox is about to close it.",
    ({ states }) => {
      states["stopping"]!.entry = without(states["stopping"]!.entry, "closeDependents")
    }
  ),
  fault(
    "a stop that ends no runtime",
    "sandbox",
    "sandbox",
    "A boot, a stop and a deletion end by themselves.",
    ({ states }) => {
      states["stopping"]!.entry = without(states["stopping"]!.entry, "stopRuntime")
    },
    { depth: 3 }
  ),
  fault("no DELETE in sleep", "sandbox", "sandbox", "A client's DELETE is taken in every state.", ({ states }) => {
    withoutEvent(states["sleeping"]!, "DELETE")
  }),
  fault(
    "a deletion that can be started again",
    "sandbox",
    "sandbox",
    "Delete wins: nothing leads back from a deletion.",
    ({ states }) => {
      states["deleting"]!.on["START"] = { target: "pending", actions: ["noteNextGeneration"], description: "Planted." }
    }
  ),
  fault(
    "a deletion that removes nothing",
    "sandbox",
    "sandbox",
    "From every state there is a way to deleted, with nothing left at the host and nothing open.",
    ({ states }) => {
      states["deleting"]!.entry = without(states["deleting"]!.entry, "destroyRuntime")
    },
    { depth: 3 }
  ),
  fault(
    "no meter at the end of a run",
    "sandbox",
    "sandbox",
    "Once a Sandbox has posted what it costs, the ledger counts it exactly while it runs.",
    ({ states }) => {
      states["running"]!.exit = without(states["running"]!.exit, "meter")
    }
  ),
  fault(
    "a stopped Sandbox that leaves a runtime alone",
    "sandbox",
    "sandbox",
    "A runtime that no Sandbox wants is ended, unless its host was given up.",
    ({ states }) => {
      withoutEvent(states["stopped"]!, "RUNTIME_FOUND")
      withoutEvent(states["failed"]!, "RUNTIME_FOUND")
    },
    { depth: 3 }
  ),
  fault(
    "a sleeping Sandbox that does not hear of its death",
    "sandbox",
    "sandbox",
    "A Sandbox whose runtime is gone does not stay running.",
    ({ states }) => {
      withoutEvent(states["sleeping"]!, "RUNTIME_DOWN")
      withoutEvent(states["sleeping"]!, "STOP")
      withoutEvent(states["sleeping"]!, "START")
    }
  ),
  fault(
    "a cancelled operation that completes after all",
    "operation",
    "operation",
    "An operation has exactly one terminal result, which never changes.",
    ({ states }) => {
      again(states["cancelled"]!, "completed")
    }
  ),
  fault(
    "a terminal operation that takes its end once more",
    "operation",
    "operation",
    "A terminal operation takes no event but the account of its process tree.",
    ({ states }) => {
      again(states["cancelled"]!, "cancelled")
    }
  ),
  fault(
    "an operation that forgets to end its process",
    "operation",
    "operation",
    "An operation that ended says what became of its processes.",
    ({ states }) => {
      states["cancelled"]!.entry = without(states["cancelled"]!.entry, "endProcess")
    }
  ),
  fault(
    "a grant that its Sandbox does not close",
    "access",
    "connectionGrant",
    "A preview, access or grant is usable only while its generation lives, or its Sandbox is about to close it.",
    ({ states }) => {
      withoutEvent(states["granted"]!, "SANDBOX_ENDED")
    }
  ),
  fault(
    "an access that never ends its connections",
    "access",
    "serviceAccess",
    "What is closed ends: no preview or access stays on its way.",
    ({ states }) => {
      states["revoking"]!.entry = without(states["revoking"]!.entry, "cutConnections")
    }
  ),
  fault(
    "a wallet that stops nothing when its credit is gone",
    "money",
    "wallet",
    "A Sandbox whose account is suspended or has no credit is stopped.",
    ({ states }) => {
      withoutEvent(states["exhausted"]!, "STOP_DUE")
    },
    { isPrompt: true }
  ),
  fault(
    "a wallet that forgets what changed while it asked",
    "money",
    "wallet",
    "A wallet that waits for nothing knows what its Sandboxes cost.",
    ({ guards }) => {
      guards["isAsked"] = () => false
    }
  ),
  fault(
    "a lost host whose Sandboxes are not told",
    "fleet",
    "host",
    "A Sandbox on a lost host does not stay running.",
    ({ states }) => {
      states["lost"]!.entry = without(states["lost"]!.entry, "loseSandboxes")
    },
    { depth: 6 }
  ),
  fault(
    "a host that joins again and counts as compared",
    "fleet",
    "host",
    "A host carries Sandboxes, or is drained, only once its machines were compared with them.",
    ({ states }) => {
      states["joining"]!.on["CANARY_PASSED"] = { target: "ready", actions: ["noteProven"], description: "Planted." }
    }
  ),
  fault(
    "a failed capture that leaves its image",
    "fork",
    "snapshot",
    "No image stays on the host that no snapshot has, or one that failed or is deleted.",
    ({ states }) => {
      states["failed"]!.tags = without(states["failed"]!.tags, "imageless")
    },
    { isPrompt: true }
  ),
  fault(
    "a deletion that leaves the image",
    "fork",
    "snapshot",
    "A deletion of a snapshot ends.",
    ({ states }) => {
      states["deleting"]!.entry = without(states["deleting"]!.entry, "removeSnapshot")
    },
    { isPrompt: true }
  ),
  fault(
    "a snapshot that waits for the end of its capture before it is deleted",
    "fork",
    "snapshot",
    "A client's DELETE of a snapshot is taken in every state.",
    ({ states }) => {
      withoutEvent(states["creating"]!, "DELETE")
    },
    { isPrompt: true }
  ),
  fault(
    "a late capture that wins over a deletion",
    "fork",
    "snapshot",
    "Delete wins: no snapshot comes back from its deletion, and none that failed becomes ready.",
    ({ states }) => {
      states["deleting"]!.on["CAPTURED"] = { target: "ready", actions: ["noteImage"], description: "Planted." }
    }
  ),
  fault(
    "a lost image that nothing is said of",
    "fork",
    "snapshot",
    "A snapshot whose image is lost does not stay ready.",
    ({ states }) => {
      withoutEvent(states["ready"]!, "SNAPSHOT_LOST")
    },
    { isPrompt: true }
  ),
  fault(
    "a snapshot that is ready before its host has the image",
    "fork",
    "snapshot",
    "A snapshot is ready only with an image on its host, unless the host has lost it.",
    ({ states }) => {
      states["creating"]!.on["CAPTURE_FAILED"] = { target: "ready", description: "Planted." }
    },
    { isPrompt: true }
  ),
  fault(
    "an image of a lost host that nothing is said of",
    "images",
    "image",
    "An image whose host is lost does not stay ready.",
    ({ states }) => {
      withoutEvent(states["ready"]!, "IMAGE_LOST")
    },
    { isPrompt: true }
  ),
  fault(
    "an image that stays failed when its host is back",
    "images",
    "image",
    "No image stays on the host whose record says that none is there.",
    ({ states }) => {
      withoutEvent(states["failed"]!, "IMAGE_FOUND")
    },
    { isPrompt: true }
  ),
  fault(
    "a build that leaves its Sandbox",
    "build",
    "image",
    "The Sandbox of a build is deleted once its image is not built any more.",
    ({ states }) => {
      const failure = states["building"]!.on["BUILD_FAILED"] as { actions: Array<unknown> }
      states["building"]!.on["BUILD_FAILED"] = { ...failure, actions: without(failure.actions, "endBuild") }
    },
    { isPrompt: true }
  ),
  fault(
    "an image that waits for a build that nothing runs",
    "build",
    "image",
    "A build begins its operation, and ends once that has ended.",
    ({ states }) => {
      states["building"]!.entry = without(states["building"]!.entry, "buildImage")
    },
    { depth: 4, isPrompt: true }
  )
]
