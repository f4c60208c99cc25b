/** What can come of each command of what lives in a Sandbox: of `src/operation/OperationDefinition.ts` and of `src/access/`. */
import type { ActorKind, ActorView, Outcome } from "../../../src/proofs/explore/Product.ts"
import { hasGuest, isInhabited, reason, sandboxOf, type View, type World } from "./World.ts"

type Table = ActorKind<World>["commands"]

const exited = (processTree: string) => ({ type: "EXITED", exitCode: 0, signal: null, reason: null, processTree })
const lost = { type: "LOST", reason }

/** As `whileSandboxRuns`: while the guest does not answer, it is asked again as long as its Sandbox is there. */
const whileRuns = (
  { context: { generation } }: ActorView,
  product: View,
  answered: ReadonlyArray<Outcome<World>>,
  gone: ReadonlyArray<Outcome<World>>
): ReadonlyArray<Outcome<World>> =>
  hasGuest(product, generation) ? answered : isInhabited(product, generation) ? [] : gone

const gone = [{ label: "its Sandbox is gone", answer: lost }]

export const operationCommands: Table = {
  startProcess: {
    lane: "process",
    outcomes: (self, _, product) =>
      whileRuns(
        self,
        product,
        [
          { label: "starts", answer: { type: "STARTED" } },
          { label: "is refused", isFault: true, answer: { type: "REFUSED", reason } },
          { label: "violates the protocol", isFault: true, answer: lost }
        ],
        gone
      )
  },
  followProcess: {
    lane: "process",
    outcomes: (self, _, product) =>
      whileRuns(
        self,
        product,
        [
          // A command may run for ever.
          { label: "ends", isFault: true, answer: exited("gone") },
          { label: "ends and leaves processes", isFault: true, answer: exited("unconfirmed") },
          { label: "is forgotten", isFault: true, answer: lost },
          ...(self.context.timeoutMs === null
            ? []
            : [{ label: "runs out of time", isFault: true, answer: { type: "TIME_OUT" } }])
        ],
        gone
      )
  },
  endProcess: {
    lane: "process",
    outcomes: (self, _, product) => {
      const settled = (processTree: string) => ({ type: "TREE_SETTLED", processTree })
      const sandbox = sandboxOf(product)
      const isOver = sandbox.tags.has("ended") || sandbox.context.generation > self.context.generation
      return whileRuns(
        self,
        product,
        [
          { label: "ends the tree", answer: settled("gone") },
          { label: "cannot see the tree", answer: settled("unconfirmed") }
        ],
        isOver ? [{ label: "its runtime has ended", answer: settled("gone") }] : []
      )
    }
  },
  forgetProcess: { lane: null, outcomes: () => [{ label: "forgets" }], isUrgent: true }
}

/** As `SandboxReach.obstacle`: null without an obstacle; a guest may not answer in time. */
const looks = (
  self: ActorView,
  product: View,
  { good, bad }: { readonly good: string; readonly bad: string }
): ReadonlyArray<Outcome<World>> => {
  const { generation } = self.context
  const refused = (label: string) => ({ label, answer: { type: bad, reason } })
  if (!isInhabited(product, generation)) return [refused("its Sandbox is gone")]
  const found = { label: "finds its Sandbox", answer: { type: good } }
  if (!sandboxOf(product).tags.has("up")) return [found]
  const silent = refused("its Sandbox does not answer")
  return hasGuest(product, generation) ? [found, { ...silent, isFault: true }] : [silent]
}

/** As `SandboxReach.hasSettled`. */
const hasSettled = ({ context: { generation } }: ActorView, product: View): boolean =>
  !isInhabited(product, generation) || sandboxOf(product).tags.has("asleep") || hasGuest(product, generation)

const confirms: Table["confirmSandbox"]["outcomes"] = (self, _, product) =>
  looks(self, product, { good: "SANDBOX_CONFIRMED", bad: "SANDBOX_REFUSED" })

export const previewCommands: Table = {
  openTunnel: {
    lane: "tunnel",
    outcomes: (self, _, product) => looks(self, product, { good: "TUNNEL_OPEN", bad: "TUNNEL_REFUSED" })
  },
  closeTunnel: {
    lane: "tunnel",
    outcomes: (self, _, product) =>
      hasSettled(self, product) ? [{ label: "closes", answer: { type: "TUNNEL_CLOSED" } }] : []
  }
}

export const accessCommands: Table = {
  confirmSandbox: { lane: "connections", outcomes: confirms },
  cutOtherClients: { lane: "connections", outcomes: () => [{ label: "cuts the older client" }], isUrgent: true },
  cutConnections: {
    lane: "connections",
    outcomes: (self, _, product) => [
      { label: "cuts, unconfirmed", answer: { type: "CONNECTIONS_CUT", cleanup: "unconfirmed" } },
      ...(hasSettled(self, product)
        ? [{ label: "cuts", answer: { type: "CONNECTIONS_CUT", cleanup: "confirmed" } }]
        : [])
    ]
  }
}

export const grantCommands: Table = {
  confirmSandbox: { lane: "connections", outcomes: confirms },
  /** With several services the count of connections may never reach zero: it ends with its Sandbox. */
  holdConnections: {
    lane: "connections",
    outcomes: (self, _, product) =>
      isInhabited(product, self.context.generation as number)
        ? []
        : [{ label: "finds its Sandbox gone", answer: { type: "CONNECTIONS_OVER" } }]
  },
  endConnections: { lane: "connections", outcomes: () => [{ label: "ends them" }], isUrgent: true }
}
