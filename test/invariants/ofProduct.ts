/** The invariants over the explored product: those of moments and changes, what holds of single steps and of the world, and what comes in the end. */
import type {
  ActorView,
  By,
  EdgeInvariant,
  Liveness,
  ProductView,
  StateInvariant
} from "../../src/proofs/explore/Product.ts"
import { sandboxOf, type World } from "../proofs/product/World.ts"
import { everyChange } from "./changes.ts"
import { changesBetween } from "./Moment.ts"
import { everyMoment } from "./moments.ts"
import { imageEdges, imageLiveness, imageStates } from "./ofImages.ts"
import { snapshotEdges, snapshotLiveness, snapshotStates } from "./ofSnapshots.ts"

type State = StateInvariant<World>
type Edge = EdgeInvariant<World>
type Goal = Liveness<World>

const theLedgerFollows: State = {
  sentence: "Once a Sandbox has posted what it costs, the ledger counts it exactly while it runs.",
  broken: (product) => {
    const { tags, commands, state } = sandboxOf(product)
    if (commands.some(({ type }) => type === "meter")) return null
    return product.world.isMetered === tags.has("up")
      ? null
      : `The Sandbox is ${state}, and the ledger ${product.world.isMetered ? "counts it" : "does not count it"}.`
  }
}

const theWalletFollows: State = {
  sentence: "A wallet that waits for nothing knows what its Sandboxes cost.",
  broken: (product) => {
    const wallet = product.actor("wallet")
    if (wallet === null || wallet.commands.length > 0 || wallet.late.length > 0 || product.world.hasNews) return null
    const { isStale, isReckoning, burnMicroUsdPerHour } = wallet.context
    if (isStale || isReckoning) return "It waits for an answer that no command brings."
    // It is about to ask, or to be told.
    if (wallet.due.includes("due") || sandboxOf(product).commands.some(({ type }) => type === "meter")) return null
    return burnMicroUsdPerHour > 0 === product.world.isMetered
      ? null
      : `It knows of ${burnMicroUsdPerHour} an hour, and the ledger of ${Number(product.world.isMetered)}.`
  }
}

const deletesAreTaken: Edge = {
  sentence: "A client's DELETE is taken in every state.",
  broken: (_, { deliveries }) => {
    const refused = deliveries.find(
      ({ to, event, verdict }) => to === "sandbox" && event.type === "DELETE" && verdict === "refused"
    )
    return refused === undefined ? null : `It was refused in ${refused.from}: ${refused.code}.`
  }
}

const terminalsTakeNoResult: Edge = {
  sentence: "A terminal operation takes no event but the account of its process tree.",
  broken: (before, { deliveries }) => {
    const taken = deliveries.find(
      ({ to, event, verdict }) =>
        verdict === "accepted" &&
        event.type !== "TREE_SETTLED" &&
        before.actor(to)?.kind === "operation" &&
        before.actor(to)!.tags.has("terminal")
    )
    return taken === undefined ? null : `${taken.to} took ${taken.event.type} in ${taken.from}.`
  }
}

const onlyItsGeneration: Edge = {
  sentence: "What is said of another generation changes nothing in a Sandbox.",
  broken: (before, { deliveries }) => {
    const { generation } = sandboxOf(before).context
    const taken = deliveries.find(
      ({ to, event, verdict }) =>
        to === "sandbox" &&
        verdict === "accepted" &&
        event["generation"] !== undefined &&
        event["generation"] !== generation
    )
    return taken === undefined
      ? null
      : `In generation ${generation} it took ${taken.event.type} of generation ${taken.event["generation"]}.`
  }
}

const oneStepAtATime: Edge = {
  sentence: "A Sandbox boots one generation at a time.",
  broken: (before, _, after) => {
    const [was, is] = [before, after].map((product) => sandboxOf(product).context.generation as number)
    return is! - was! <= 1 ? null : `It went from generation ${was} to ${is}.`
  }
}

const ofMoments: ReadonlyArray<State> = everyMoment

const ofChanges: ReadonlyArray<Edge> = everyChange.map((invariant) => ({
  sentence: invariant.sentence,
  broken: (before, _, after) => changesBetween(before, after, invariant)
}))

export const stateInvariants: ReadonlyArray<State> = [
  ...ofMoments,
  theLedgerFollows,
  theWalletFollows,
  ...snapshotStates,
  ...imageStates
]
export const edgeInvariants: ReadonlyArray<Edge> = [
  ...ofChanges,
  deletesAreTaken,
  terminalsTakeNoResult,
  onlyItsGeneration,
  oneStepAtATime,
  ...snapshotEdges,
  ...imageEdges
]

/** By themselves: without a client, and without a fault. */
const alone: ReadonlyArray<By> = ["service", "time", "world"]

/**
 * They wait for what may never come: a host is attended for as long as it is there, a command runs and a connection lasts as long as its user likes, a build
 * takes as long as its operation, and an image is removed only when its clients have deleted the Sandboxes that have it.
 */
const patient: ReadonlyArray<string> = ["attend", "followProcess", "holdConnections", "buildImage", "removeImage"]

const isIdle = ({ commands, late }: ActorView): boolean =>
  late.length === 0 && commands.every(({ type }) => patient.includes(type))

const isOpen = ({ kind, tags }: ActorView) => !["sandbox", "host", "wallet"].includes(kind) && tags.has("open")

const isUnsettled = ({ kind, tags, context }: ActorView) =>
  kind === "operation" && tags.has("terminal") && context.processTree === "running"

const isClosing = ({ kind, tags }: ActorView) =>
  ["preview", "serviceAccess"].includes(kind) && !tags.has("open") && !tags.has("over")

const isEmpty = ({ world }: ProductView<World>) => world.machine === null && !world.hasVolume && world.lateBoot === null

const isAllDeleted = (product: ProductView<World>): boolean =>
  sandboxOf(product).tags.has("gone") && isEmpty(product) && !product.actors.some(isOpen) && isIdle(sandboxOf(product))

const deletable: Goal = {
  sentence: "From every state there is a way to deleted, with nothing left at the host and nothing open.",
  from: () => true,
  to: isAllDeleted,
  by: [...alone, "client"]
}

const neverStuck: Goal = {
  sentence:
    "A deletion ends without anybody's help: the Sandbox is deleted, the host empty, and what lived in it is over.",
  from: (product) => sandboxOf(product).tags.has("volumeless") && !sandboxOf(product).tags.has("ended"),
  to: isAllDeleted,
  by: alone
}

const isLeftBehind = (actor: ActorView, product: ProductView<World>): boolean => {
  const { tags, context } = sandboxOf(product)
  return isOpen(actor) && !(tags.has("inhabited") && context.generation === actor.context.generation)
}

const isAnyLeft = (product: ProductView<World>) => product.actors.some((actor) => isLeftBehind(actor, product))

const nothingIsLeftBehind: Goal = {
  sentence: "What lives in a generation that has ended ends, too.",
  from: isAnyLeft,
  to: (product) => !isAnyLeft(product),
  by: alone
}

const isUnderway = ({ tags }: ActorView) => tags.has("counted") && (!tags.has("notStarting") || tags.has("volumeless"))

const waysEnd: Goal = {
  sentence: "A boot, a stop and a deletion end by themselves.",
  from: (product) => isUnderway(sandboxOf(product)),
  to: (product) => !isUnderway(sandboxOf(product)),
  by: alone
}

const commandsEnd: Goal = {
  sentence: "No command waits for ever; only what lives in a sleeping Sandbox waits for it to wake.",
  from: (product) => product.actors.some((actor) => !isIdle(actor)),
  to: (product) =>
    product.actors.every(
      (actor) => isIdle(actor) || (actor.kind === "operation" && sandboxOf(product).tags.has("asleep"))
    ),
  by: alone
}

const treesSettle: Goal = {
  sentence: "An operation that ended says what became of its processes.",
  from: (product) => product.actors.some(isUnsettled),
  to: (product) => !product.actors.some(isUnsettled) || sandboxOf(product).tags.has("asleep"),
  by: alone
}

const closingsEnd: Goal = {
  sentence: "What is closed ends: no preview or access stays on its way.",
  from: (product) => product.actors.some(isClosing),
  to: (product) => !product.actors.some(isClosing),
  by: alone
}

const runtimesBelong: Goal = {
  sentence: "A runtime that no Sandbox wants is ended, unless its host was given up.",
  from: (product) => product.world.machine !== null && !sandboxOf(product).tags.has("inhabited"),
  to: (product) =>
    product.world.machine === null ||
    sandboxOf(product).tags.has("inhabited") ||
    product.actor("host")?.tags.has("removed") === true,
  by: alone
}

const deathsAreSeen: Goal = {
  sentence: "A Sandbox whose runtime is gone does not stay running.",
  from: (product) =>
    sandboxOf(product).tags.has("alive") && product.world.machine?.generation !== sandboxOf(product).context.generation,
  to: (product) => !sandboxOf(product).tags.has("alive"),
  by: alone
}

const creditHolds: Goal = {
  sentence: "A Sandbox whose account is suspended or has no credit is stopped.",
  from: (product) =>
    product.actor("wallet") !== null && product.world.money !== "credit" && sandboxOf(product).tags.has("inhabited"),
  to: (product) => !sandboxOf(product).tags.has("inhabited"),
  by: ["service", "time"]
}

const lostHostsEmpty: Goal = {
  sentence: "A Sandbox on a lost host does not stay running.",
  from: (product) => product.actor("host")?.tags.has("absent") === true && sandboxOf(product).tags.has("inhabited"),
  to: (product) => !sandboxOf(product).tags.has("inhabited"),
  by: ["service", "time"]
}

const always: ReadonlyArray<Goal> = [
  deletable,
  neverStuck,
  nothingIsLeftBehind,
  waysEnd,
  commandsEnd,
  treesSettle,
  closingsEnd,
  runtimesBelong,
  deathsAreSeen
]

export const livenessOf = (kinds: ReadonlyArray<string>): ReadonlyArray<Goal> => [
  ...always,
  ...(kinds.includes("wallet") ? [creditHolds] : []),
  ...(kinds.includes("host") ? [lostHostsEmpty] : []),
  ...(kinds.includes("snapshot") ? snapshotLiveness : []),
  ...(kinds.includes("image") ? imageLiveness : [])
]
