/** A copy of a machine in the browser that accepts events, without any effect on the service. */
import { useMemo, useState } from "preact/hooks"
import { litOf } from "../../../statechart/lit.ts"
import { StatechartViewer } from "../statechart/StatechartViewer.tsx"
import { Select } from "../ui/Field.tsx"
import { AskedCommands } from "./AskedCommands.tsx"
import { AttemptVerdict } from "./AttemptVerdict.tsx"
import { Changes } from "./Changes.tsx"
import type { SimulatedKind } from "./Kind.ts"
import { type OpenedPath, opened } from "./openedPath.ts"
import { PathSteps } from "./PathSteps.tsx"
import { type Attempt, eventsOf, played, type Step } from "./played.ts"
import { type AnyEvent, begin, nextEvents } from "./simulate.ts"

const first = ({ machine, input }: SimulatedKind): Step => ({
  event: null,
  from: null,
  before: null,
  ...begin(machine, input(Date.now()))
})

/** @param path An opened path, which begins at its first step; null: none. */
export const Simulator = ({ kind, path }: { kind: SimulatedKind; path: OpenedPath | null }) => {
  const { machine, chart, parameters } = kind
  const made = useMemo(() => first(kind), [])
  const [place, setPlace] = useState(0)
  const [differs, setDiffers] = useState<string | null>(null)
  const [steps, setSteps] = useState<ReadonlyArray<Step>>([made])
  const [attempt, setAttempt] = useState<Attempt | null>(null)
  const { snapshot, event: lastEvent, from, before, commands } = steps.at(-1)!
  const state = snapshot.value as string

  /** The default event of a type, for now. */
  const sample = (type: string): AnyEvent => ({
    type,
    at: Date.now(),
    ...parameters[type]!(snapshot.context as never)
  })
  const possible = useMemo(() => nextEvents(snapshot, sample), [snapshot])
  const [type, setType] = useState(() => possible[0] ?? chart.events[0]!.name)
  const jsonOf = (name: string): string => JSON.stringify(parameters[name]!(snapshot.context as never), null, 2)
  const [edited, setEdited] = useState<string | null>(null)
  const [wrong, setWrong] = useState<string | null>(null)
  const json = edited ?? jsonOf(type)

  const choose = (name: string) => {
    setType(name)
    setEdited(null)
    setWrong(null)
  }

  const send = () => {
    let events: ReadonlyArray<AnyEvent>
    try {
      events = eventsOf(json, type, Date.now())
    } catch (fault) {
      setWrong(`The parameters are not valid JSON: ${(fault as Error).message}`)
      return
    }
    setWrong(null)
    try {
      const sent = played(machine, steps, events)
      setAttempt(sent.attempt)
      setEdited(null)
      setSteps(sent.steps)
    } catch (fault) {
      setWrong(`The machine cannot process this: ${(fault as Error).message}`)
    }
  }

  const go = (to: number) => {
    const found = opened(machine, made, path!, to)
    setPlace(to)
    setSteps(found.steps)
    setAttempt(found.attempt)
    setDiffers(found.differs)
    setEdited(null)
  }

  const last = steps.length - 1
  const lit = litOf(chart, {
    state,
    last: { from, event: lastEvent?.type ?? "CREATED", to: state },
    nextEvents: possible
  })
  return (
    <section class="pane" aria-labelledby="simulator">
      <header class="pane-head">
        <h2 id="simulator">{kind.title}</h2>
        <button
          type="button"
          class="button small"
          disabled={last === 0}
          onClick={() => {
            setSteps(steps.slice(0, -1))
            setAttempt(null)
            setEdited(null)
          }}
        >
          Undo one step
        </button>
        <button
          type="button"
          class="button small"
          onClick={() => {
            setSteps([first(kind)])
            setPlace(0)
            setDiffers(null)
            setAttempt(null)
            setEdited(null)
          }}
        >
          Start again
        </button>
      </header>
      <div class="beside">
        <StatechartViewer chart={chart} lit={lit} turn={last} />
        <div class="controls">
          {path === null ? null : <PathSteps path={path} place={place} differs={differs} go={go} />}
          <p class="hint">This copy runs in your browser. Events that you send to it do not affect the service.</p>
          <Select
            label="Event"
            name="event"
            value={type}
            onChoice={choose}
            options={chart.events.map(({ name }) => [name, possible.includes(name) ? `${name} ·` : name] as const)}
            hint="A dot marks the events that this state accepts."
          />
          <div class="field">
            <label for="parameters">Parameters</label>
            <textarea
              id="parameters"
              rows={Math.min(12, json.split("\n").length + 1)}
              spellcheck={false}
              value={json}
              onInput={({ currentTarget }) => setEdited(currentTarget.value)}
              aria-describedby="parameters-hint"
            />
            <p class="hint" id="parameters-hint">
              JSON; <code>at</code> is now by default. Or a list of whole events.
            </p>
          </div>
          {wrong === null ? null : (
            <p class="fault" role="alert">
              {wrong}
            </p>
          )}
          <div class="buttons">
            <button type="button" class="button primary" onClick={send}>
              Send
            </button>
          </div>
          <AttemptVerdict attempt={attempt} />
          <h3>
            {from === null ? "Initial state" : `${from} → ${state}`} <code class="event">{lastEvent?.type ?? ""}</code>
          </h3>
          <AskedCommands commands={commands} />
          <Changes before={before?.context ?? null} after={snapshot.context} />
        </div>
      </div>
    </section>
  )
}
