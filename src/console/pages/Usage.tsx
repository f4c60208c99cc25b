/** The account's usage, its cost, and the credit that pays for it. */
import { useState } from "preact/hooks"
import type { Cost, Usage as Used } from "../../../schemas/Usage.ts"
import { get, queryOf } from "./api.ts"
import { count, duration, gibHours, usd } from "./format.ts"
import { useLoad } from "./load.ts"
import { Select } from "./ui/Field.tsx"
import { Pane } from "./ui/Pane.tsx"
import { CostChart } from "./usage/CostChart.tsx"
import { Transactions } from "./usage/Transactions.tsx"
import { Wallet } from "./usage/Wallet.tsx"

interface Costs {
  readonly costs: ReadonlyArray<Cost>
  readonly totalMicroUsd: number
  readonly asOf: string
}

const monthsShown = 12

/** The first instant of a UTC month, `ago` months before the present one. */
const monthBegin = (ago: number): Date => {
  const now = new Date()
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - ago, 1))
}

const months = () =>
  Array.from({ length: monthsShown }, (_, ago) => [String(ago), monthBegin(ago).toISOString().slice(0, 7)] as const)

const Figures = ({ usage }: { usage: Used }) => (
  <dl class="figures">
    <div>
      <dt>Sandbox running time</dt>
      <dd>{duration(usage.sandboxSeconds)}</dd>
    </div>
    <div>
      <dt>vCPU time, allocated</dt>
      <dd>{duration(usage.vcpuSeconds)}</dd>
    </div>
    <div>
      <dt>Memory</dt>
      <dd>{gibHours(usage.memoryMibSeconds)}</dd>
    </div>
    <div>
      <dt>Volumes</dt>
      <dd>{gibHours(usage.volumeMibSeconds)}</dd>
    </div>
    <div>
      <dt>Snapshots</dt>
      <dd>{gibHours(usage.snapshotMibSeconds)}</dd>
    </div>
    <div>
      <dt>CPU time, measured</dt>
      <dd>{usage.cpuSeconds === null ? <span class="soft">not measured</span> : duration(usage.cpuSeconds)}</dd>
    </div>
    <div>
      <dt>Operations</dt>
      <dd>{count(usage.operations)}</dd>
    </div>
    <div>
      <dt>Commands</dt>
      <dd>{count(usage.executes)}</dd>
    </div>
  </dl>
)

export const Usage = () => {
  const [ago, setAgo] = useState("0")
  const from = monthBegin(Number(ago)).toISOString()
  const to = monthBegin(Number(ago) - 1).toISOString()
  const used = useLoad(`usage ${from}`, (signal) =>
    get<{ readonly usage: Used }>(`/api/v2/usage${queryOf({ from, to })}`, signal)
  )
  const byDay = useLoad(`days ${from}`, (signal) =>
    get<Costs>(`/api/v2/usage/costs${queryOf({ from, to, groupBy: "day" })}`, signal)
  )
  return (
    <>
      <h1>Usage and wallet</h1>
      <Wallet />
      <div class="filters">
        <Select label="UTC month" name="month" value={ago} options={months()} onChoice={setAgo} />
      </div>
      <Pane title="Costs by day" loaded={byDay}>
        {({ costs, totalMicroUsd }) => (
          <>
            <p>
              Total <strong>{usd(totalMicroUsd)}</strong>
            </p>
            <CostChart costs={costs} from={from} to={to} />
          </>
        )}
      </Pane>
      <Pane title="Usage" loaded={used}>
        {({ usage }) => <Figures usage={usage} />}
      </Pane>
      <Transactions />
    </>
  )
}
