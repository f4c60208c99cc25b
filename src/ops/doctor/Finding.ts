/** One check of this host: its result, and how to fix it. */
export interface Finding {
  /** A word or two: "cgroups". */
  readonly name: string
  /** `limited`: Atoll runs, but something is not enforced or not available. `missing`: something that the settings ask for does not work here. */
  readonly state: "ok" | "limited" | "missing"
  /** One sentence. */
  readonly found: string
  /** One command or one sentence; null when all is well. */
  readonly mend: string | null
}

export const fine = (name: string, found: string): Finding => ({ name, state: "ok", found, mend: null })

export const limited = (name: string, found: string, mend: string): Finding => ({ name, state: "limited", found, mend })

export const missing = (name: string, found: string, mend: string): Finding => ({ name, state: "missing", found, mend })
