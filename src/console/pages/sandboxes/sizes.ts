/** The sizes of a Sandbox, as typed: vCPUs, and MiB of memory and disk. The fields have the names of the API's. */
import type { CreateSandboxRequest } from "../../../../schemas/Sandbox.ts"
import type { SandboxProfile } from "../../../../schemas/SandboxProfile.ts"
import { FieldFaults, readAll } from "../ui/fieldFaults.ts"

const mebibyte = 1024 * 1024

type Typed = Readonly<Record<keyof SandboxProfile, number | null>>

/** Null: nothing is written. */
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
export const sizesIn = (data: FormData): Typed & NonNullable<CreateSandboxRequest["profile"]> => {
  const text = (name: keyof SandboxProfile) => String(data.get(name) ?? "").trim()
  return readAll<Typed>({
    vcpus: () => numberIn("vCPUs", text("vcpus"), /^\d{1,4}(\.\d)?$/, "0.5"),
    memoryBytes: () => bytesIn("Memory", text("memoryBytes")),
    diskBytes: () => bytesIn("Disk", text("diskBytes"))
  })
}

/** A size that is not in whole MiB has no text, and stays unless one is written. */
export const shownMib = (bytes: number): string => (bytes % mebibyte === 0 ? String(bytes / mebibyte) : "")

/** Only the sizes that differ from those shown; an empty field keeps its own. Null: all stay. */
export const sizeChangesIn = (shown: SandboxProfile, data: FormData): Partial<SandboxProfile> | null => {
  const typed = sizesIn(data)
  if (typed.diskBytes !== null && typed.diskBytes < shown.diskBytes) {
    throw new FieldFaults({ diskBytes: `A volume never shrinks: this one has ${shown.diskBytes / mebibyte} MiB.` })
  }
  const changed = (["vcpus", "memoryBytes", "diskBytes"] as const).flatMap((name) =>
    typed[name] === null || typed[name] === shown[name] ? [] : [[name, typed[name]] as const]
  )
  return changed.length === 0 ? null : Object.fromEntries(changed)
}
