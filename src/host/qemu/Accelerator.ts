/**
 * Chooses KVM or TCG by booting the guest with KVM: a host may have /dev/kvm and still not run an ordinary kernel under it. The answer is cached
 * while host, QEMU and image stay the same.
 */
import { randomUUID } from "node:crypto"
import { constants } from "node:fs"
import { access, readFile, rename, writeFile } from "node:fs/promises"
import { Effect, Option, Schema } from "effect"
import type { Accelerator, MachineShape } from "./machineArguments.ts"
import { buildTemplate, type TemplateHost } from "./Template.ts"

/** KVM boots the guest in about a second. */
const KVM_BOOT_TIMEOUT_MS = 12_000

export interface Choice {
  readonly accelerator: Accelerator
  /** One sentence for the operator. */
  readonly statement: string
}

const Kept = Schema.fromJsonString(
  Schema.Struct({ tried: Schema.String, accelerator: Schema.Literals(["kvm", "tcg"]), why: Schema.String })
)
const decode = Schema.decodeUnknownOption(Kept)

const keptIn = (vmFolder: string): string => `${vmFolder}/accelerator.json`

const readKept = (vmFolder: string): Promise<typeof Kept.Type | null> =>
  readFile(keptIn(vmFolder), "utf8")
    .catch(() => "")
    .then((text) => Option.getOrNull(decode(text)))

/** Why machines need emulation on this host although it has /dev/kvm; null where that was not tried, or KVM works. */
export const emulationReason = async (vmFolder: string): Promise<string | null> => {
  const kept = await readKept(vmFolder)
  return kept?.accelerator === "tcg" ? kept.why : null
}

const choice = (accelerator: Accelerator, why: string): Choice => ({
  accelerator,
  statement:
    accelerator === "kvm"
      ? "Machines run on the processor's virtualization (KVM)."
      : `Machines run under emulation (TCG), several times slower than KVM and not a security boundary that the QEMU project supports: ${why}.`
})

export const chooseAccelerator = (
  host: TemplateHost,
  shape: Omit<MachineShape, "accelerator">
): Effect.Effect<Choice> =>
  Effect.gen(function* () {
    const usable = yield* Effect.promise(() =>
      access("/dev/kvm", constants.R_OK | constants.W_OK).then(
        () => null,
        (error: NodeJS.ErrnoException) =>
          error.code === "ENOENT" ? "this host has no /dev/kvm" : "/dev/kvm is closed to this user"
      )
    )
    if (usable !== null) return choice("tcg", usable)
    const path = keptIn(host.vmFolder)
    const bootId = yield* Effect.promise(() => readFile("/proc/sys/kernel/random/boot_id", "utf8"))
    const tried = [bootId.trim(), host.qemu.version, host.image.kernel].join(" ")
    const kept = yield* Effect.promise(() => readKept(host.vmFolder))
    if (kept?.tried === tried) return choice(kept.accelerator, kept.why)
    const found = yield* buildTemplate(host, { ...shape, accelerator: "kvm" }, KVM_BOOT_TIMEOUT_MS).pipe(
      Effect.as({ accelerator: "kvm" as const, why: "" }),
      Effect.catch(({ message }) =>
        Effect.succeed({
          accelerator: "tcg" as const,
          why: `the guest does not boot under KVM here (${message.slice(0, 120)})`
        })
      )
    )
    yield* Effect.promise(async () => {
      // A unique name, because another Atoll of this host may write the same file.
      const partial = `${path}.${randomUUID()}`
      await writeFile(partial, JSON.stringify({ tried, ...found }))
      await rename(partial, path)
    })
    return choice(found.accelerator, found.why)
  })
