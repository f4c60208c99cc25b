/** What a Sandbox is, in a list. */
import type { Sandbox } from "../../../../schemas/Sandbox.ts"
import { Instant } from "../ui/Instant.tsx"

export const Facts = ({ sandbox }: { sandbox: Sandbox }) => (
  <p class="soft">
    <code>{sandbox.id}</code> · made <Instant at={sandbox.createdAt} /> · generation {sandbox.generation}
    {sandbox.statusReason === null ? null : <> · {sandbox.statusReason.message}</>}
  </p>
)
