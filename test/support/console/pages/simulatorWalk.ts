/**
 * A machine's simulator in every state that the machine can reach: the way there by events, and what the service's own machine says of each
 * event then.
 */
import type { Page } from "playwright-core"
import type { AnyMachineSnapshot } from "xstate"
import type { SimulatedKind } from "../../../../src/console/pages/machine/Kind.ts"
import type { AnyEvent } from "../../../../src/engine/ActorDefinition.ts"
import { begin, decide, type Verdict } from "../../../../src/engine/Transition.ts"

interface Sent {
  readonly type: string
  /** Null: what the simulator offers. */
  readonly parameters: object | null
}

/** What is done in the page, one after the other. */
type Act = { readonly do: "Start again" | "Undo one step" } | ({ readonly do: "send" } & Sent)

interface Answer {
  /** The words below the button. */
  readonly said: string
  readonly state: string
  readonly commands: ReadonlyArray<string>
}

export interface Compared {
  /** Kind, state and event. */
  readonly about: string
  readonly expected: Answer
  readonly shown: Answer
}

/** Events of one type that lead to different states, where what is offered leads to one of them only. */
const others: Readonly<Record<string, ReadonlyArray<object>>> = {
  "wallet RECKONED": ["unlimited", "low", "exhausted"].map((status) => ({ status }))
}

const eventsIn = ({ kind, parameters }: SimulatedKind, { context }: AnyMachineSnapshot): ReadonlyArray<Sent> =>
  Object.entries(parameters).flatMap(
    ([type, offered]): ReadonlyArray<Sent> => [
      { type, parameters: null },
      ...(others[`${kind} ${type}`] ?? []).map((other) => ({
        type,
        parameters: { ...offered(context as never), ...other }
      }))
    ]
  )

const verdictOn = (
  { machine, parameters }: SimulatedKind,
  snapshot: AnyMachineSnapshot,
  sent: Sent,
  at: number
): Verdict => {
  const event = { type: sent.type, at, ...(sent.parameters ?? parameters[sent.type]!(snapshot.context as never)) }
  return decide(machine, snapshot, event as AnyEvent, 2, {})
}

interface Reached {
  readonly way: ReadonlyArray<Sent>
  readonly snapshot: AnyMachineSnapshot
}

/** By state, with the shortest way to it. */
const reachedOf = (kind: SimulatedKind, at: number): ReadonlyMap<string, Reached> => {
  const first: Reached = { way: [], snapshot: begin(kind.machine, kind.input(at)).snapshot }
  const reached = new Map([[first.snapshot.value as string, first]])
  // A map goes on with what was put into it meanwhile: breadth first.
  for (const { way, snapshot } of reached.values()) {
    for (const sent of eventsIn(kind, snapshot)) {
      const verdict = verdictOn(kind, snapshot, sent, at)
      if (verdict.type !== "accepted" || reached.has(verdict.snapshot.value as string)) continue
      reached.set(verdict.snapshot.value as string, { way: [...way, sent], snapshot: verdict.snapshot })
    }
  }
  return reached
}

const wordsOf = (type: string, state: string, verdict: Verdict): string =>
  `${type} in ${state} ${
    verdict.type === "accepted"
      ? "was taken"
      : verdict.type === "unchanged"
        ? "changes nothing: the state ignores the event"
        : `was refused: ${verdict.code}`
  }.`

/** Deadlines are commands of the machine, which the service keeps apart. */
const isDeadline = (name: string) => name === "schedule" || name === "unschedule"

/** Does it all in one go, as fast as the page renders. Answers with what it showed after each event. */
const play = async (page: Page, acts: ReadonlyArray<Act>): Promise<ReadonlyArray<Answer>> =>
  (await page.evaluate(`(async () => {
    const rendered = () => new Promise((resolve) => {
      const { port1, port2 } = new MessageChannel()
      port1.onmessage = resolve
      port2.postMessage(null)
    })
    const button = (name) => [...document.querySelectorAll("button")].find(({ textContent }) => textContent === name)
    const texts = (selector) => [...document.querySelectorAll(selector)].map(({ textContent }) => textContent)
    const answers = []
    for (const act of ${JSON.stringify(acts)}) {
      if (act.do !== "send") button(act.do).click()
      else {
        const select = document.querySelector("select[name=event]")
        select.value = act.type
        select.dispatchEvent(new Event("change", { bubbles: true }))
        await rendered()
        if (act.parameters !== null) {
          const parameters = document.querySelector("#parameters")
          parameters.value = JSON.stringify(act.parameters)
          parameters.dispatchEvent(new Event("input", { bubbles: true }))
          await rendered()
        }
        button("Send").click()
        await rendered()
        answers.push({
          said: texts(".verdict p").join(),
          state: [...document.querySelectorAll(".state.current")].map((state) => state.dataset.state).join(),
          commands: texts(".controls > div > .commands .command")
        })
        continue
      }
      await rendered()
    }
    return answers
  })()`)) as ReadonlyArray<Answer>

/** On the page of a kind's simulator: every event in every state that can be reached. */
export const compared = async (page: Page, kind: SimulatedKind): Promise<ReadonlyArray<Compared>> => {
  const at = Date.now()
  const found: Array<Compared> = []
  for (const [state, { way, snapshot }] of reachedOf(kind, at)) {
    const told = eventsIn(kind, snapshot).map((sent) => ({ sent, verdict: verdictOn(kind, snapshot, sent, at) }))
    const acts: ReadonlyArray<Act> = [
      { do: "Start again" },
      ...way.map((sent): Act => ({ do: "send", ...sent })),
      ...told.flatMap(
        ({ sent, verdict }): ReadonlyArray<Act> => [
          { do: "send", ...sent },
          ...(verdict.type === "accepted" ? [{ do: "Undo one step" } as const] : [])
        ]
      )
    ]
    const shown = (await play(page, acts)).slice(way.length)
    for (const [index, { sent, verdict }] of told.entries()) {
      const answer = shown[index]!
      const isTaken = verdict.type === "accepted"
      found.push({
        about: `${kind.kind}: ${sent.type} in ${state}`,
        expected: {
          said: wordsOf(sent.type, state, verdict),
          state: (isTaken ? verdict.snapshot.value : state) as string,
          commands: isTaken ? verdict.commands.map(({ type }) => type) : []
        },
        // What was asked for by the step before stays shown where nothing is taken.
        shown: { ...answer, commands: isTaken ? answer.commands.filter((name) => !isDeadline(name)) : [] }
      })
    }
  }
  return found
}
