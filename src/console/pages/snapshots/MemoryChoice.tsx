/** Whether a snapshot or a fork has the memory, too; or why it cannot. */
import type { Sandbox } from "../../../../schemas/Sandbox.ts"
import { isAsleep, isUp } from "../states.ts"
import { Check } from "../ui/Field.tsx"

const name = "memory"

const obstacle = ({ runtime, status }: Sandbox): string | null => {
  if (runtime !== "vm") return "Only a virtual machine's memory can be kept: this one runs in Linux namespaces."
  return isUp(status) || isAsleep(status) ? null : "There is no memory to keep: the Sandbox does not run."
}

export const withMemory = (data: FormData): boolean => data.has(name)

export const MemoryChoice = ({ sandbox, hint }: { sandbox: Sandbox; hint: string }) => {
  const why = obstacle(sandbox)
  return why === null ? <Check label="With memory" name={name} value="yes" hint={hint} /> : <p class="hint">{why}</p>
}
