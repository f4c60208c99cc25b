import type { Cost } from "../../../../schemas/Usage.ts"
import { exactUsd, usdInSteps } from "../format.ts"
import { Scrolls } from "../ui/Scrolls.tsx"
import { Table } from "../ui/Table.tsx"
import { barsOf, chart, daysBetween } from "./barChart.ts"

interface Drawn {
  readonly costs: ReadonlyArray<Cost>
  readonly from: string
  readonly to: string
}

/** A future day has no bar; the table beside it shows days without cost. */
export const CostChart = ({ costs, from, to }: Drawn) => {
  const byDay = new Map(costs.map((cost) => [cost.key, cost]))
  const days = daysBetween(from, to)
  const { bars, ticks } = barsOf(days.map((day) => [day, byDay.get(day)?.microUsd ?? 0]))
  const labelEvery = Math.ceil(days.length / 8)
  return (
    <>
      <Scrolls label="Costs by day, drawn">
        <svg class="chart" viewBox={`0 0 ${chart.width} ${chart.height}`} role="img" aria-label="Costs by UTC day">
          {ticks.map(({ value, y }) => (
            <g key={value}>
              <line class="grid" x1={chart.left} x2={chart.width - chart.right} y1={y} y2={y} />
              <text x={chart.left - 8} y={y + 4} text-anchor="end">
                {usdInSteps(value, ticks[1]!.value)}
              </text>
            </g>
          ))}
          {bars.map(({ key, x, y, width, height }, index) => (
            <g key={key}>
              <rect class="bar" x={x} y={y} width={width} height={height} rx={Math.min(2, width / 4)}>
                <title>{`${key}: ${exactUsd(byDay.get(key)?.microUsd ?? 0)}`}</title>
              </rect>
              {index % labelEvery === 0 ? (
                <text x={x + width / 2} y={chart.height - 8} text-anchor="middle">
                  {key.slice(5)}
                </text>
              ) : null}
            </g>
          ))}
        </svg>
      </Scrolls>
      <details>
        <summary>As a table</summary>
        <Table
          label="Costs by day, as a table"
          columns={[
            "UTC day",
            { number: "vCPU" },
            { number: "Memory" },
            { number: "Volumes" },
            { number: "Snapshots" },
            { number: "Total" }
          ]}
        >
          {costs.map(({ key, microUsd, components }) => (
            <tr key={key}>
              <td>{key}</td>
              <td class="number">{exactUsd(components.vcpuMicroUsd)}</td>
              <td class="number">{exactUsd(components.memoryMicroUsd)}</td>
              <td class="number">{exactUsd(components.volumeMicroUsd)}</td>
              <td class="number">{exactUsd(components.snapshotMicroUsd)}</td>
              <td class="number">{exactUsd(microUsd)}</td>
            </tr>
          ))}
        </Table>
      </details>
    </>
  )
}
