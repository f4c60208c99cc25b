import { join } from "node:path"
import { isDeepStrictEqual } from "node:util"
import { assert, describe, expect, it } from "vitest"
import type { StateMeta } from "../../../machines/meta.ts"
import type { AnyEvent } from "../../../src/engine/ActorDefinition.ts"
import { decide, restore } from "../../../src/engine/Transition.ts"
import type { Deadlines } from "../../../src/store/JournalRecord.ts"
import { decisionsOf } from "../../support/machines/decisions.ts"
import { type MachineSource, machineSources } from "../../support/machines/MachineSource.ts"
import { isEnd, isFollowed, plainVerdict, type Reached, walk } from "../../support/machines/walk.ts"
import { outcomeTable } from "./outcomeTable.ts"

interface StateConfig {
  readonly description?: string
  readonly on?: Record<string, unknown>
  readonly entry?: unknown
  readonly exit?: unknown
  readonly [key: string]: unknown
}

const listOf = (value: unknown): ReadonlyArray<unknown> =>
  value === undefined ? [] : Array.isArray(value) ? value : [value]

const statesOf = ({ machine }: MachineSource) =>
  Object.entries((machine.config as { readonly states?: Record<string, StateConfig> }).states ?? {})

const transitionsOf = (source: MachineSource) =>
  statesOf(source).flatMap(([state, { on }]) =>
    Object.entries(on ?? {}).flatMap(([event, listed]) =>
      listOf(listed).map((transition) => ({
        state,
        event,
        transition: transition as {
          readonly guard?: unknown
          readonly actions?: unknown
          readonly description?: string
        }
      }))
    )
  )

/** The states with a path to one for which the predicate holds. */
const leadingTo = (reached: ReadonlyMap<string, Reached>, holds: (one: Reached) => boolean) => {
  const before = new Map<string, Array<string>>()
  for (const { key, steps } of reached.values()) {
    for (const { to } of steps) {
      const known = before.get(to)
      if (known === undefined) before.set(to, [key])
      else if (known.at(-1) !== key) known.push(key)
    }
  }
  const found = new Set<string>()
  const waiting = [...reached.values()].filter(holds).map(({ key }) => key)
  for (let key = waiting.pop(); key !== undefined; key = waiting.pop()) {
    if (found.has(key)) continue
    found.add(key)
    waiting.push(...(before.get(key) ?? []))
  }
  return found
}

/** The assertion's own comparison takes ten times as long, and there are hundreds of thousands. */
const isEqual = (actual: unknown, expected: unknown) => {
  if (!isDeepStrictEqual(actual, expected)) assert.deepStrictEqual(actual, expected)
}

it("every machine of the folder is found", () => {
  assert.includeMembers(
    machineSources.map(({ name }) => name),
    ["operation", "sandbox"]
  )
})

describe.each(machineSources.map((source) => [source.name, source] as const))("the machine of %s", (name, source) => {
  const { machine } = source
  const reached = walk(source)

  it("reaches every state that it declares", () => {
    const states = new Set([...reached.values()].map(({ snapshot }) => snapshot.value))
    assert.sameMembers(
      [...states],
      statesOf(source).map(([state]) => state)
    )
  })

  it("accounts for every event in every state: accepted, unchanged, or refused with a reason", async () => {
    const unaccounted = [...reached.values()].flatMap(({ snapshot, steps }) =>
      steps
        .filter(({ verdict }) => verdict.type === "refused" && verdict.code === "UNEXPECTED_EVENT")
        .map(({ event }) => `${snapshot.value}: ${JSON.stringify(event)}`)
    )
    assert.deepStrictEqual(unaccounted, [])
    await expect(outcomeTable(decisionsOf(source))).toMatchFileSnapshot(join(import.meta.dirname, `tables/${name}.md`))
  })

  it("names only events that exist, and calls none unchanged that always has another outcome", () => {
    const seen = new Set(
      [...reached.values()].flatMap(({ snapshot, steps }) =>
        steps.map(({ event, verdict }) => `${snapshot.value} ${event.type} ${verdict.type}`)
      )
    )
    for (const [state] of statesOf(source)) {
      const { unchanged, refuses } = machine.states[state]!.meta as StateMeta
      assert.includeMembers(
        source.events.map(({ type }) => type),
        [...unchanged, ...Object.keys(refuses)]
      )
      for (const event of unchanged) assert.isTrue(seen.has(`${state} ${event} unchanged`), `${state} ${event}`)
    }
  })

  it("takes every declared transition", () => {
    const taken = new Set(
      [...reached.values()].flatMap(({ snapshot, steps }) =>
        steps
          .filter(({ verdict }) => verdict.type === "accepted")
          .map(({ event, to }) => `${snapshot.value} ${event.type} ${JSON.parse(to).value}`)
      )
    )
    const untaken = transitionsOf(source)
      .map(({ state, event, transition }) => {
        const { target } = transition as { readonly target?: string }
        return `${state} ${event} ${target ?? state}`
      })
      .filter((declared) => !taken.has(declared))
    assert.deepStrictEqual(untaken, [])
  })

  it("has a path to its end from every state; a machine without an end, to every state but its first", () => {
    const ends = [...reached.values()].some(({ snapshot }) => isEnd(snapshot))
    const { initial } = machine.config as { readonly initial: string }
    const aims = ends
      ? [({ snapshot }: Reached) => isEnd(snapshot)]
      : statesOf(source)
          .filter(([state]) => state !== initial)
          .map(
            ([state]) =>
              ({ snapshot }: Reached) =>
                snapshot.value === state
          )
    for (const isThere of aims) {
      const found = leadingTo(reached, isThere)
      const stuck = [...reached.values()].filter((one) => isFollowed(one) && !found.has(one.key)).map(({ key }) => key)
      assert.deepStrictEqual(stuck, [])
    }
  })

  it("does not leave an end, nor change its result", () => {
    const left = [...reached.values()]
      .filter(({ snapshot }) => isEnd(snapshot))
      .flatMap(({ snapshot, steps }) => steps.filter(({ to }) => JSON.parse(to).value !== snapshot.value))
    assert.deepStrictEqual(left, [])
  })

  it("has no deadline at its end", () => {
    for (const { key, snapshot } of reached.values()) {
      if (isEnd(snapshot)) assert.deepStrictEqual(JSON.parse(key).deadlines, {}, key)
    }
  })

  it("has deadlines in whole milliseconds, because the database stores nothing else", () => {
    for (const { key } of reached.values()) {
      const deadlines: Deadlines = JSON.parse(key).deadlines
      for (const { at } of Object.values(deadlines)) assert.isTrue(Number.isSafeInteger(at), key)
    }
  })

  it("continues from a stored snapshot as if it had never stopped", () => {
    for (const { snapshot, steps } of reached.values()) {
      const stored = restore(machine, JSON.parse(JSON.stringify(snapshot)))
      for (const { event } of steps) {
        const [live, later] = [snapshot, stored].map((one) => decide(machine, one, event, 2, {}))
        isEqual(plainVerdict(later!), plainVerdict(live!))
      }
    }
  })

  it("keeps nothing in a snapshot or a command that JSON would lose", () => {
    for (const { snapshot, steps } of reached.values()) {
      isEqual(JSON.parse(JSON.stringify(snapshot.context)), snapshot.context)
      for (const { verdict } of steps) {
        if (verdict.type !== "accepted") continue
        const plain = { commands: verdict.commands, deadlines: verdict.deadlines }
        isEqual(JSON.parse(JSON.stringify(plain)), plain)
      }
    }
  })

  it("describes itself, every state, every transition and every event", () => {
    const without = [
      ...(machine.config.description ? [] : ["the machine"]),
      ...statesOf(source).flatMap(([state, { description }]) => (description ? [] : [`state ${state}`])),
      ...transitionsOf(source).flatMap(({ state, event, transition }) =>
        transition.description ? [] : [`transition ${state} ${event}`]
      ),
      ...source.events.flatMap(({ type, doc }) => (doc ? [] : [`event ${type}`]))
    ]
    assert.deepStrictEqual(without, [])
  })

  it("has the instant of each event", () => {
    assert.isNotEmpty(source.events)
    for (const { type, fields } of source.events) assert.isTrue(fields.has("at"), `${type} has no "at"`)
  })

  it("is flat, and uses no feature that acts, waits or remembers by itself", () => {
    for (const [state, config] of statesOf(source)) {
      for (const feature of ["invoke", "after", "always", "states", "onDone", "history", "initial"]) {
        assert.notProperty(config, feature, state)
      }
    }
    const { implementations } = machine
    assert.deepStrictEqual(Object.keys(implementations.actors ?? {}), [])
    assert.deepStrictEqual(Object.keys(implementations.delays ?? {}), [])
  })

  it("names its actions and guards: no closure in the configuration, and actions only assign or only send commands", () => {
    const isNamed = (one: unknown) =>
      typeof one === "string" || (typeof one === "object" && one !== null && typeof (one as AnyEvent).type === "string")
    const inline = [
      ...statesOf(source).flatMap(([state, { entry, exit }]) =>
        [...listOf(entry), ...listOf(exit)].filter((one) => !isNamed(one)).map(() => `${state} entry or exit`)
      ),
      ...transitionsOf(source).flatMap(({ state, event, transition }) => [
        ...listOf(transition.actions)
          .filter((one) => !isNamed(one))
          .map(() => `${state} ${event} action`),
        ...listOf(transition.guard)
          .filter((one) => !isNamed(one))
          .map(() => `${state} ${event} guard`)
      ])
    ]
    assert.deepStrictEqual(inline, [])
    const acting = Object.entries(machine.implementations.actions).flatMap(([action, implementation]) => {
      const { type } = implementation as { readonly type?: string }
      const isAssign = type === "xstate.assign"
      const isCommand = type === undefined && /\{\s*\}$/.test(String(implementation))
      return isAssign || isCommand ? [] : [action]
    })
    assert.deepStrictEqual(acting, [])
  })

  it("has action names that tell the role: only those that begin with note change the context", () => {
    const misnamed = Object.entries(machine.implementations.actions).filter(
      ([action, implementation]) =>
        /^note[A-Z]/.test(action) !== ((implementation as { readonly type?: string }).type === "xstate.assign")
    )
    assert.deepStrictEqual(misnamed, [])
  })
})
