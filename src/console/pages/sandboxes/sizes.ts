/** The sizes of a new Sandbox, as typed: vCPUs, and MiB of memory and disk. */
import type { CreateSandboxRequest } from "../../../../schemas/Sandbox.ts"
import { readAll } from "../ui/fieldFaults.ts"

const mebibyte = 1024 * 1024

/** Null: as the operator has chosen. */
const numberIn = (label: string, text: string, pattern: RegExp, example: string): number | null => {
  if (text === "") return null
  if (pattern.test(text)) return Number(text)
  throw new Error(`${label}: write a number such as ${example}, or nothing.`)
}

const bytesIn = (label: string, text: string): number | null => {
  const mebibytes = numberIn(label, text, /^\d{1,9}$/, "512")
  return mebibytes === null ? null : mebibytes * mebibyte
}

/** Throws all mistakes together, each under the name of its field. */
export const sizesIn = (data: FormData): NonNullable<CreateSandboxRequest["profile"]> => {
  const text = (name: string) => String(data.get(name) ?? "").trim()
  const { vcpus, memoryMib, diskMib } = readAll({
    vcpus: () => numberIn("vCPUs", text("vcpus"), /^\d{1,4}(\.\d)?$/, "0.5"),
    memoryMib: () => bytesIn("Memory", text("memoryMib")),
    diskMib: () => bytesIn("Disk", text("diskMib"))
  })
  return { vcpus, memoryBytes: memoryMib, diskBytes: diskMib }
}
