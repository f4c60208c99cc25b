/** A path that an exploration found, as one actor lived it: the simulator opens it from a link. */
import type { AnyMachineSnapshot, AnyStateMachine } from "xstate"
import { type Attempt, played, type Step } from "./played.ts"
import type { AnyEvent } from "./simulate.ts"

interface Moment {
  readonly by: string
  readonly label: string
  /** Its state before; null: as it was made. The context has the fields that are read. */
  readonly before: { readonly value: string; readonly context: Readonly<Record<string, unknown>> } | null
  /** With what the explored machine made of each event. */
  readonly sent: ReadonlyArray<{ readonly event: AnyEvent; readonly verdict: string; readonly state: string | null }>
}

export interface OpenedPath {
  readonly actor: string
  readonly kind: string
  readonly moments: ReadonlyArray<Moment>
}

const linked = /^#path=([\w-]+)$/

/** Null: the fragment has no path of this kind. */
export const pathIn = (fragment: string, kind: string): OpenedPath | null => {
  const text = linked.exec(fragment)?.[1]
  if (text === undefined) return null
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0))
    const path = JSON.parse(new TextDecoder().decode(bytes)) as OpenedPath
    return path.kind === kind && path.moments.length > 0 ? path : null
  } catch {
    return null
  }
}

/** The machine in another state of one level; XState's own way to do it is not in the bundle. */
const inState = (
  machine: AnyStateMachine,
  first: AnyMachineSnapshot,
  { value, context }: NonNullable<Moment["before"]>
) => {
  const node = machine.states[value]
  if (node === undefined) return first
  return {
    ...first,
    value,
    context: { ...first.context, ...context },
    tags: new Set(node.tags),
    _nodes: [machine.root, node]
  } as AnyMachineSnapshot
}

export interface Opened {
  readonly steps: ReadonlyArray<Step>
  readonly attempt: Attempt | null
  /** What this machine did otherwise than the explored one; null: the same. */
  readonly differs: string | null
}

/** The simulator after the first moments of a path, as many as `count`. */
export const opened = (machine: AnyStateMachine, first: Step, path: OpenedPath, count: number): Opened => {
  let found: Opened = { steps: [first], attempt: null, differs: null }
  for (const { before, sent } of path.moments.slice(0, count)) {
    const begun = before === null ? first.snapshot : inState(machine, first.snapshot, before)
    const steps = [...found.steps, { event: null, from: null, before: null, snapshot: begun, commands: [] }]
    let after = { steps: steps as ReadonlyArray<Step>, attempt: found.attempt }
    let differs: string | null = null
    for (const { event, verdict, state } of sent) {
      after = played(machine, after.steps, [event])
      const is = after.steps.at(-1)!.snapshot.value as string
      if (after.attempt!.verdict.type !== verdict || is !== state) {
        differs ??= `${event.type}: the explored machine said ${verdict} (${state}), and this one says ${after.attempt!.verdict.type} (${is}).`
      }
    }
    found = { ...after, differs }
  }
  return found
}
