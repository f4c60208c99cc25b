/** What was looked at on this host, what was found, and what mends it. */
export interface Finding {
  /** A word or two: "cgroups". */
  readonly name: string
  /** `limited`: Atoll runs, and something is not enforced or not had. `missing`: what the settings ask for does not work here. */
  readonly state: "ok" | "limited" | "missing"
  /** One sentence. */
  readonly found: string
  /** One command or one sentence; null where all is well. */
  readonly mend: string | null
}

export const fine = (name: string, found: string): Finding => ({ name, state: "ok", found, mend: null })

export const limited = (name: string, found: string, mend: string): Finding => ({ name, state: "limited", found, mend })

export const missing = (name: string, found: string, mend: string): Finding => ({ name, state: "missing", found, mend })
