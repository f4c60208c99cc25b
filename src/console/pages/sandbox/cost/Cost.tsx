/** The cost of a Sandbox: its total so far, and its present rate. */
import { useEffect, useRef } from "preact/hooks"
import type { Sandbox } from "../../../../../schemas/Sandbox.ts"
import { exactUsd } from "../../format.ts"
import { useLoad } from "../../load.ts"
import { Instant } from "../../ui/Instant.tsx"
import { Pane } from "../../ui/Pane.tsx"
import { CostChart } from "../../usage/CostChart.tsx"
import { useEvery } from "../../useEvery.ts"
import type { TabProps } from "../TabProps.ts"
import { type LifeCosts, lifeCosts } from "./costs.ts"

const reloadMs = 30_000
/** Metering follows a change by a moment. */
const meteredMs = 1000

const whyNothing = ({ startedAt, deletedAt }: Sandbox): string => {
  if (startedAt === null) return "It has never run, so it has cost nothing."
  if (deletedAt === null) return "Nothing has been metered yet."
  return "It was deleted before this service metered usage, so its cost is not known."
}

const Figures = ({ costs }: { costs: LifeCosts }) => (
  <dl class="figures">
    <div>
      <dt>Total</dt>
      <dd data-cost="total">{exactUsd(costs.totalMicroUsd)}</dd>
    </div>
    <div>
      <dt>Cost per hour</dt>
      <dd data-cost="burn">{exactUsd(costs.burnMicroUsdPerHour)}</dd>
    </div>
    <div>
      <dt>vCPU</dt>
      <dd data-cost="vcpu">{exactUsd(costs.vcpuMicroUsd)}</dd>
    </div>
    <div>
      <dt>Memory</dt>
      <dd data-cost="memory">{exactUsd(costs.memoryMicroUsd)}</dd>
    </div>
    <div>
      <dt>Volume</dt>
      <dd data-cost="volume">{exactUsd(costs.volumeMicroUsd)}</dd>
    </div>
    <div>
      <dt>Snapshots</dt>
      <dd data-cost="snapshots">{exactUsd(costs.snapshotMicroUsd)}</dd>
    </div>
  </dl>
)

export const Cost = ({ sandbox }: TabProps) => {
  const loaded = useLoad(`cost ${sandbox.id}`, (signal) => lifeCosts(sandbox, Date.now(), signal))
  const { reload } = loaded
  const known = useRef(sandbox.updatedAt)
  // A change of the Sandbox changes its cost.
  useEffect(() => {
    if (known.current === sandbox.updatedAt) return
    known.current = sandbox.updatedAt
    const timer = setTimeout(reload, meteredMs)
    return () => clearTimeout(timer)
  }, [sandbox.updatedAt, reload])
  useEvery(loaded.value !== null && loaded.value.burnMicroUsdPerHour > 0 ? reloadMs : null, reload)
  return (
    <Pane title="Cost" loaded={loaded}>
      {(costs) =>
        costs.days.length === 0 ? (
          <p class="empty">{whyNothing(sandbox)}</p>
        ) : (
          <>
            <Figures costs={costs} />
            <p class="hint">
              Counted up to <Instant at={costs.asOf} />. vCPU and memory cost while it runs, the volume from its first
              boot until it is deleted, each of its snapshots while it is kept.
            </p>
            <CostChart costs={costs.days} from={costs.from} to={costs.to} />
          </>
        )
      }
    </Pane>
  )
}
