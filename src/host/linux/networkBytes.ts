import { readFileSync } from "node:fs"

/** Bytes that all interfaces but loopback of a process's network namespace have carried. Null when the process is gone. */
export const networkBytes = (pid: number): { readonly received: number; readonly sent: number } | null => {
  try {
    const lines = readFileSync(`/proc/${pid}/net/dev`, "utf8").split("\n").slice(2)
    const fields = lines.map((line) => line.trim().split(/[:\s]+/)).filter(([name]) => name !== "" && name !== "lo")
    const sum = (column: number) => fields.reduce((total, it) => total + Number(it[column]), 0)
    return { received: sum(1), sent: sum(9) }
  } catch {
    return null
  }
}
