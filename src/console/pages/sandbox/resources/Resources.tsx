/** The measured resource usage of a Sandbox. */
import { useMemo, useState } from "preact/hooks"
import type { SandboxAnalytics } from "../../../../../schemas/Analytics.ts"
import { get, queryOf } from "../../api.ts"
import { count, duration, instant, size } from "../../format.ts"
import { useLoad } from "../../load.ts"
import { Select } from "../../ui/Field.tsx"
import { Instant } from "../../ui/Instant.tsx"
import { Pane } from "../../ui/Pane.tsx"
import { WindowedRows } from "../../ui/WindowedRows.tsx"
import { useEvery } from "../../useEvery.ts"
import type { TabProps } from "../TabProps.ts"
import { type ChartLine, LineChart } from "./LineChart.tsx"
import { columnOf, type Measured, newestMeasured, type Sample } from "./series.ts"
import { type RangeName, ranges, windowOf } from "./window.ts"
import "./resources.css"

/** The shortest bucket: earlier there is nothing new. */
const reloadMs = 60_000

const cpuSeconds = (value: number): string =>
  `${value.toLocaleString("en-US", { maximumFractionDigits: value < 1 ? 3 : 2 })} s`

interface Charted {
  readonly title: (bucket: string) => string
  readonly lines: ReadonlyArray<readonly [label: string, measured: Measured]>
  readonly format: (value: number) => string
  readonly isBinary: boolean
}

const charts: ReadonlyArray<Charted> = [
  {
    title: (bucket) => `CPU time used in each ${bucket}`,
    lines: [["CPU time", "cpuSeconds"]],
    format: cpuSeconds,
    isBinary: false
  },
  { title: () => "Memory in use", lines: [["Memory", "memoryBytes"]], format: size, isBinary: true },
  { title: () => "Volume in use", lines: [["Volume", "volumeBytes"]], format: size, isBinary: true },
  {
    title: (bucket) => `Network in each ${bucket}`,
    lines: [
      ["received", "networkRxBytes"],
      ["sent", "networkTxBytes"]
    ],
    format: size,
    isBinary: true
  }
]

const bucketOf = (seconds: number): string =>
  seconds === 60 ? "minute" : seconds === 3600 ? "hour" : seconds === 86_400 ? "day" : duration(seconds)

const milliseconds = (ms: number | null): string =>
  ms === null
    ? "–"
    : ms < 1000
      ? `${Math.round(ms).toLocaleString("en-US")} ms`
      : `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 0)} s`

const Figures = ({ lifecycle, operations }: SandboxAnalytics) => (
  <dl class="figures">
    <div>
      <dt>Ran</dt>
      <dd>{duration(lifecycle.runningSeconds)}</dd>
    </div>
    <div>
      <dt>Boots</dt>
      <dd>{count(lifecycle.boots)}</dd>
    </div>
    <div>
      <dt>Operations started</dt>
      <dd>{count(operations.started)}</dd>
    </div>
    <div>
      <dt>Completed, cancelled, failed</dt>
      <dd>
        {count(operations.completed)}, {count(operations.cancelled)}, {count(operations.failed)}
      </dd>
    </div>
    <div>
      <dt>Synchronous commands</dt>
      <dd>{count(operations.executeCount)}</dd>
    </div>
    <div>
      <dt>Median duration</dt>
      <dd>{milliseconds(operations.medianDurationMs)}</dd>
    </div>
    <div>
      <dt>99th percentile</dt>
      <dd>{milliseconds(operations.p99DurationMs)}</dd>
    </div>
  </dl>
)

const Table = ({ samples, bucket }: { samples: ReadonlyArray<Sample>; bucket: string }) => {
  const [isOpen, setOpen] = useState(false)
  const of = (value: number | null, format: (value: number) => string) =>
    value === null ? <span class="soft">not measured</span> : format(value)
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>As a table, a row for each {bucket}</summary>
      {isOpen ? (
        <WindowedRows
          label="Measurements"
          layout="of-samples"
          columns={["From", "CPU time", "Memory", "Volume", "Received", "Sent"]}
          rows={samples.toReversed()}
          keyOf={({ at }) => at}
          cells={(sample) => [
            <Instant key="at" at={sample.at} />,
            of(sample.cpuSeconds, cpuSeconds),
            of(sample.memoryBytes, size),
            of(sample.volumeBytes, size),
            of(sample.networkRxBytes, size),
            of(sample.networkTxBytes, size)
          ]}
        />
      ) : null}
    </details>
  )
}

const Drawn = ({ analytics }: { analytics: SandboxAnalytics }) => {
  const { samples } = analytics.resources
  const bucket = bucketOf(analytics.resolutionSeconds)
  const [chosen, choose] = useState<number | null>(null)
  const newest = newestMeasured(samples)
  const times = useMemo(() => samples.map(({ at }) => Date.parse(at) / 1000), [samples])
  const lines = useMemo(
    () =>
      charts.map(({ lines }) =>
        lines.map(([label, measured]): ChartLine => ({ label, column: columnOf(samples, measured) }))
      ),
    [samples]
  )
  if (newest === null)
    return <p class="empty">There are no measurements in this time. Only running Sandboxes are measured.</p>
  const pointed = Math.min(chosen ?? newest, samples.length - 1)
  const at = instant(samples[pointed]!.at)
  const end = Date.parse(samples[pointed]!.at) + analytics.resolutionSeconds * 1000
  const isOpen = end > Date.parse(analytics.to)
  return (
    <>
      <div class="scrubber">
        <input
          type="range"
          min={0}
          max={samples.length - 1}
          step={1}
          value={pointed}
          aria-label="Moment"
          aria-valuetext={at}
          onInput={({ currentTarget }) => choose(Number(currentTarget.value))}
        />
        <span class="as-of" data-moment={samples[pointed]!.at}>
          {at}
          {chosen === null ? ", the latest measurement" : ""}
          {isOpen ? `; this ${bucket} is not complete` : ""}
        </span>
      </div>
      <div class="charts">
        {charts.map(({ title, format, isBinary }, index) =>
          lines[index]!.every(({ column }) => column.every((value) => value === null)) ? (
            <section key={index} class="chart-pane">
              <h3>{title(bucket)}</h3>
              <p class="soft">No measurement in this time.</p>
            </section>
          ) : (
            <LineChart
              key={index}
              title={title(bucket)}
              times={times}
              lines={lines[index]!}
              format={format}
              isBinary={isBinary}
              pointed={pointed}
              point={choose}
            />
          )
        )}
      </div>
      <Table samples={samples} bucket={bucket} />
    </>
  )
}

/** The latest hundred. */
const bootsOf = (generation: number) =>
  Array.from({ length: Math.min(generation, 100) }, (_, back) => {
    const boot = String(generation - back)
    return [boot, boot] as const
  })

export const Resources = ({ sandbox }: TabProps) => {
  const [range, setRange] = useState<RangeName>("hour")
  const [generation, setGeneration] = useState("")
  const { reload, ...loaded } = useLoad(`resources ${sandbox.id} ${range} ${generation}`, (signal) =>
    get<{ readonly analytics: SandboxAnalytics }>(
      `/api/v2/sandboxes/${sandbox.id}/analytics${queryOf({ ...windowOf(range, sandbox, Date.now()), generation })}`,
      signal
    )
  )
  useEvery(sandbox.deletedAt === null ? reloadMs : null, reload)
  return (
    <>
      <div class="filters">
        <Select
          label="Window"
          name="window"
          value={range}
          options={Object.entries(ranges).map(([name, { label }]) => [name, label] as const)}
          onChoice={(name) => setRange(name as RangeName)}
        />
        {sandbox.generation > 1 ? (
          <Select
            label="Boot"
            name="generation"
            value={generation}
            options={[["", "Any"], ...bootsOf(sandbox.generation)]}
            onChoice={setGeneration}
          />
        ) : null}
      </div>
      <Pane title="Resources" loaded={{ ...loaded, reload }}>
        {({ analytics }) => (
          <>
            <Figures {...analytics} />
            <Drawn analytics={analytics} />
          </>
        )}
      </Pane>
    </>
  )
}
