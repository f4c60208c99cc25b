/** Every state machine of the service: its diagram, its transition table, and a simulator. */
import { useEffect, useState } from "preact/hooks"
import { Explored } from "./machine/Explored.tsx"
import { kinds } from "./machine/kinds.ts"
import { pathIn } from "./machine/openedPath.ts"
import { Simulator } from "./machine/Simulator.tsx"
import { TransitionTable } from "./machine/TransitionTable.tsx"
import { hrefOf, navigate } from "./router.ts"

/** A link to a path may be opened on this very page. */
const useFragment = (): string => {
  const [, setSeen] = useState(location.hash)
  useEffect(() => {
    const arrive = () => setSeen(location.hash)
    addEventListener("hashchange", arrive)
    addEventListener("popstate", arrive)
    return () => {
      removeEventListener("hashchange", arrive)
      removeEventListener("popstate", arrive)
    }
  }, [])
  return location.hash
}

/** @param kind From the path; null: the first. */
export const Machines = ({ kind }: { kind: string | null }) => {
  const shown = kinds.find((one) => one.kind === kind) ?? kinds[0]!
  const fragment = useFragment()
  return (
    <>
      <h1>Machines</h1>
      <p class="lead">
        Each thing that Atoll keeps is one of these state machines. What is drawn and tried here is what the service
        runs.
      </p>
      <nav aria-label="Machines" class="tabs">
        {kinds.map((one) => (
          <a
            key={one.kind}
            href={hrefOf(`/machines/${one.kind}`)}
            {...(one === shown ? { "aria-current": "page" as const } : {})}
            onClick={(event) => {
              if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
              event.preventDefault()
              navigate(`/machines/${one.kind}`)
            }}
          >
            {one.title}
          </a>
        ))}
      </nav>
      <Simulator key={`${shown.kind}${fragment}`} kind={shown} path={pathIn(fragment, shown.kind)} />
      <section class="pane" aria-labelledby="table">
        <h2 id="table">Transition table</h2>
        <TransitionTable chart={shown.chart} />
      </section>
      <section class="pane" aria-labelledby="explored">
        <h2 id="explored">Explored</h2>
        <Explored kind={shown.kind} />
      </section>
    </>
  )
}
