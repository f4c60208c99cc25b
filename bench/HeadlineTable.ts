/** The figures of a run as a table, for the terminal and, being Markdown, for README. */
import type { BenchRun, Machine } from "./BenchRun.ts"
import type { Comparison } from "./Comparison.ts"
import type { Headline } from "./Headline.ts"
import { isReached, type Rounds, ratiosOf, roundsOf } from "./Rounds.ts"

/** Three digits that count. */
export const shown = (value: number): string =>
  Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en-US") : String(Number(value.toPrecision(3)))

const measured = (value: number, unit: string): string => (unit === "" ? shown(value) : `${shown(value)} ${unit}`)

const spread = ({ low, high, count }: Rounds): string => (count === 1 ? "–" : `${shown(low)}–${shown(high)}`)

const aimOf = ({ aim, better, unit }: Headline): string => {
  const sign = better === "lower" ? "≤" : "≥"
  return [
    aim?.value === undefined ? [] : [`${sign} ${measured(aim.value, unit)}`],
    aim?.ratio === undefined ? [] : [`ratio ${sign} ${shown(aim.ratio)}`]
  ]
    .flat()
    .join(", ")
}

const columns = ["figure", "p50", "the other side", "ratio", "aim", "reached", "spread"] as const
/** Numbers are aligned to the right. */
const rightAligned: ReadonlySet<string> = new Set(["p50", "ratio"])

const cellsOf = (figure: Headline): ReadonlyArray<string> => {
  const rounds = roundsOf(figure.values)
  const { other } = figure
  const ratios = ratiosOf(figure)
  const reached = isReached(figure)
  return [
    figure.name,
    measured(rounds.p50, figure.unit),
    other === undefined ? "" : `${measured(roundsOf(other.values).p50, figure.unit)}, ${other.name}`,
    ratios === null ? "" : shown(roundsOf(ratios).p50),
    aimOf(figure),
    reached === null ? "" : reached ? "yes" : "no",
    spread(rounds)
  ]
}

const aligned = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = columns.map((_, at) => Math.max(3, ...rows.map((row) => row[at]!.length)))
  const isRight = columns.map((column) => rightAligned.has(column))
  const line = (row: ReadonlyArray<string>) =>
    `| ${row.map((cell, at) => (isRight[at] ? cell.padStart(widths[at]!) : cell.padEnd(widths[at]!))).join(" | ")} |`
  const rule = widths.map((width, at) => (isRight[at] ? `${"-".repeat(width - 1)}:` : "-".repeat(width)))
  return [line(rows[0]!), `| ${rule.join(" | ")} |`, ...rows.slice(1).map(line)].join("\n")
}

/** All figures of a run, and the benchmarks that failed. */
export const headlineTable = ({ benches }: BenchRun): string =>
  aligned([
    columns,
    ...benches.flatMap(({ bench, failure, headlines }) => [
      ...headlines.map(cellsOf),
      ...(failure === null ? [] : [[`${bench}: failed`, "", "", "", "", "no", failure]])
    ])
  ])

const machineText = (machine: Machine): string =>
  `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB, Linux ${machine.kernel}, Node ${machine.node}, Postgres ${machine.postgres}, ${machine.runtime}`

/** When, of which commits and where a run was measured: one sentence. */
export const measuredText = ({ machine, benches }: BenchRun): string => {
  const days = [...new Set(benches.map(({ at }) => at.slice(0, 10)))].toSorted()
  const when = days.length > 1 ? `from ${days[0]} to ${days.at(-1)}` : `on ${days[0]}`
  const commits = [...new Set(benches.map(({ commit }) => commit))]
  const of = commits.length > 1 ? `commits ${commits.join(", ")}` : `commit ${commits[0]}`
  return `Measured ${when} (${of}) on: ${machineText(machine)}.`
}

/** README's part: the command, the table, and where it was measured. */
export const figuresText = (run: BenchRun): string =>
  run.benches.length === 0
    ? "`npm run bench` measures them. No run is saved yet.\n"
    : `\`npm run bench\` measures these. ${measuredText(run)}\n\n${headlineTable(run)}\n`

/** What moved, one line each, and what could not be held against the earlier run. */
export const comparisonText = (earlier: BenchRun, comparison: Comparison): string => {
  const { moved, unmoved, sameMachine, onlyThen, onlyNow, incomparable } = comparison
  const named = (text: string, names: ReadonlyArray<string>) =>
    names.length === 0 ? [] : [`${text}: ${names.join("; ")}.`]
  return [
    ...(sameMachine
      ? []
      : [`The earlier run has another machine, so only ratios are compared. It was: ${machineText(earlier.machine)}.`]),
    ...moved.map(({ name, of, unit, then, now, verdict }) => {
      const side = (it: Rounds) => `${measured(it.p50, unit)} (${spread(it)})`
      return `${verdict}: ${name}${of === "ratio" ? ", ratio" : ""}: ${side(then)} then, ${side(now)} now`
    }),
    `${moved.length === 0 ? "Nothing moved" : `${moved.length} moved`} by more than the spread of both runs; ${unmoved} figures did not.`,
    ...named("Only in the earlier run", onlyThen),
    ...named("Only in this run", onlyNow),
    ...named("Not comparable", incomparable)
  ].join("\n")
}
