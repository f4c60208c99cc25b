/** `atoll doctor`: exit code 1 where something is missing. */
import { Effect } from "effect"
import { Command } from "effect/cli"
import type { Finding } from "../ops/doctor/Finding.ts"
import { answer, exitCodes } from "./answer.ts"

const marks = { ok: "ok      ", limited: "limited ", missing: "MISSING " }

const lineOf = ({ name, state, found, mend }: Finding): string =>
  `${marks[state]} ${name.padEnd(11)} ${found}${mend === null ? "" : `\n${" ".repeat(21)}Mend: ${mend}`}`

const verdictOf = (findings: ReadonlyArray<Finding>): string => {
  const count = (state: Finding["state"]) => findings.filter((finding) => finding.state === state).length
  if (count("missing") > 0) return "Atoll does not work here with these settings."
  return count("limited") > 0
    ? "Atoll works here, with the limits above."
    : "Atoll works here, and everything is enforced."
}

export const doctor = Command.make(
  "doctor",
  {},
  Effect.fnUntraced(function* () {
    const { examine } = yield* Effect.promise(() => import("../ops/doctor/examine.ts"))
    const findings = yield* examine
    const works = findings.every(({ state }) => state !== "missing")
    yield* answer([...findings.map(lineOf), "", verdictOf(findings)].join("\n"), { works, findings })
    if (!works) process.exitCode = exitCodes.refused
  })
).pipe(Command.withDescription("Show what this host enforces and what is missing, each with its remedy"))
