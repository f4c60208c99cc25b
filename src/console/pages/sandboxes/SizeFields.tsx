import type { Sandbox } from "../../../../schemas/Sandbox.ts"
import { Field } from "../ui/Field.tsx"
import { shownMib } from "./sizes.ts"

/** `sandbox` null: a new one. */
export const SizeFields = ({ sandbox }: { readonly sandbox: Sandbox | null }) => (
  <fieldset>
    <legend>Sizes</legend>
    <p class="hint">
      {sandbox === null
        ? "Empty: as the operator has chosen."
        : sandbox.runtime === "vm"
          ? "A virtual machine that runs gets a larger disk immediately, and the rest at its next start."
          : "A Sandbox that runs gets them immediately."}
    </p>
    <Field
      label="vCPUs, such as 0.5"
      name="vcpus"
      autocomplete="off"
      defaultValue={sandbox === null ? "" : String(sandbox.profile.vcpus)}
    />
    <Field
      label="Memory, MiB"
      name="memoryBytes"
      autocomplete="off"
      defaultValue={sandbox === null ? "" : shownMib(sandbox.profile.memoryBytes)}
    />
    <Field
      label="Disk, MiB"
      name="diskBytes"
      autocomplete="off"
      defaultValue={sandbox === null ? "" : shownMib(sandbox.profile.diskBytes)}
      {...(sandbox === null ? {} : { hint: "It only grows." })}
    />
  </fieldset>
)
