/** `atoll doctor`: exit code 1 where something is missing. */
import { Effect } from "effect"
import { Command } from "effect/cli"
import type { Finding } from "../ops/doctor/Finding.ts"
import { verdictOf, works } from "../ops/doctor/verdict.ts"
import { answer, exitCodes } from "./answer.ts"

const marks = { ok: "ok      ", limited: "limited ", missing: "MISSING " }

const lineOf = ({ name, state, found, mend }: Finding): string =>
  `${marks[state]} ${name.padEnd(11)} ${found}${mend === null ? "" : `\n${" ".repeat(21)}Mend: ${mend}`}`

export const doctor = Command.make(
  "doctor",
  {},
  Effect.fnUntraced(function* () {
    const { examine } = yield* Effect.promise(() => import("../ops/doctor/examine.ts"))
    const findings = yield* examine
    const document = { works: works(findings), findings }
    yield* answer([...findings.map(lineOf), "", verdictOf(findings)].join("\n"), document)
    if (!document.works) process.exitCode = exitCodes.refused
  })
).pipe(Command.withDescription("Show what this host enforces and what is missing, each with its remedy"))
