/** The sum of all checks, in one sentence. */
import type { Finding } from "./Finding.ts"

export const verdictOf = (findings: ReadonlyArray<Finding>): string => {
  const count = (state: Finding["state"]) => findings.filter((finding) => finding.state === state).length
  if (count("missing") > 0) return "Atoll does not work here with these settings."
  return count("limited") > 0
    ? "Atoll works here, with the limits that the list names."
    : "Atoll works here, and everything is enforced."
}

/** Nothing that the settings ask for is missing. */
export const works = (findings: ReadonlyArray<Finding>): boolean => findings.every(({ state }) => state !== "missing")
