/** `atoll usage` */
import type { Balance, CostReport, Usage } from "../generated/schemas.ts"
import { command } from "./Command.ts"
import { exitCodes } from "./failure.ts"
import { answer } from "./standardStreams.ts"
import { list, shownTime, table } from "./table.ts"
import { instant, oneOf } from "./values.ts"

const groups = ["sandbox", "workspace", "day"] as const

const usd = (microUsd: number): string => {
  const sign = microUsd < 0 ? "-" : ""
  const digits = String(Math.abs(microUsd)).padStart(7, "0")
  return `${sign}${digits.slice(0, -6)}.${digits.slice(-6)} USD`
}

const shownDuration = (seconds: number): string => {
  if (seconds < 120) return `${Math.round(seconds)} s`
  return seconds < 7200 ? `${(seconds / 60).toFixed(1)} min` : `${(seconds / 3600).toFixed(1)} h`
}

const leftOf = ({ status, microUsd, burnMicroUsdPerHour, exhaustsAt }: Balance): string => {
  if (status === "unlimited") return "unlimited"
  const until = exhaustsAt === null ? "" : `, which lasts until ${shownTime(exhaustsAt)}`
  return `${usd(microUsd)} (${status}); ${usd(burnMicroUsdPerHour)} an hour now${until}`
}

const proseOf = (usage: Usage, balance: Balance, report: CostReport): string =>
  [
    list([
      ["from", shownTime(usage.from)],
      ["to", shownTime(usage.to)],
      ["credit", leftOf(balance)],
      ["cost", usd(report.totalMicroUsd)],
      ["Sandboxes ran", shownDuration(usage.sandboxSeconds)],
      ["CPU used", usage.cpuSeconds === null ? "not measured" : shownDuration(usage.cpuSeconds)],
      ["commands", String(usage.operations + usage.executes)]
    ]),
    table(
      [
        { name: "OF", isWhole: true },
        { name: "NAME" },
        { name: "RAN", isWhole: true },
        { name: "COST", isWhole: true }
      ],
      report.costs.map(({ key, name, sandboxSeconds, microUsd }) => [
        key,
        name ?? "-",
        shownDuration(sandboxSeconds),
        usd(microUsd)
      ])
    )
  ].join("\n\n")

export const usage = command({
  name: "usage",
  summary: "Show what was used, what it cost, and what credit is left",
  usage: "[--from TIME] [--to TIME] [--by GROUP]",
  details: "By default of this month (UTC). With --json the API's usage, balance and costs in one document.",
  options: {
    from: { type: "string", value: "TIME", description: "From then on: 2026-01-31, 2026-01-31T12:00:00Z, or 7d ago" },
    to: { type: "string", value: "TIME", description: "Before then" },
    by: {
      type: "string",
      value: "GROUP",
      description: "Costs by sandbox (the default), workspace or day",
      completes: groups
    }
  },
  words: { least: 0, most: 0, completes: [] },
  examples: [
    ["usage", "This month"],
    ["usage --from 7d --by day", "Of the last week, day by day"]
  ],
  run: async (given) => {
    const { from, to, by } = given.options
    const window = {
      from: from === undefined ? undefined : instant("--from", from),
      to: to === undefined ? undefined : instant("--to", to)
    }
    const atoll = given.connect()
    const [used, balance, costs] = await Promise.all([
      atoll.usage.read(window),
      atoll.usage.balance(),
      atoll.usage.costs({ ...window, groupBy: oneOf("--by", by ?? "sandbox", groups) })
    ])
    await answer(given, () => proseOf(used, balance, costs), { usage: used, balance, costs })
    return exitCodes.done
  }
})
