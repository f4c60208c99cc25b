/** Whether an API key is accepted, and until or since when. */
import type { ConsoleKey } from "../../../schemas/console/Keys.ts"
import { Instant } from "./ui/Instant.tsx"

const keyState = ({ revokedAt, expiresAt }: ConsoleKey): "active" | "revoked" | "expired" => {
  if (revokedAt !== null) return "revoked"
  return expiresAt !== null && Date.parse(expiresAt) <= Date.now() ? "expired" : "active"
}

/** Neither revoked nor expired. */
export const isAccepted = (key: ConsoleKey): boolean => keyState(key) === "active"

const byWhom = { operator: "by the operator", console: "in the console", key: "by itself" }

export const KeyState = ({ of }: { of: ConsoleKey }) => {
  const state = keyState(of)
  return (
    <>
      <span class={`status ${state}`}>{state}</span>
      {of.revokedAt !== null ? (
        <span class="soft block">
          <Instant at={of.revokedAt} /> {of.revokedBy === null ? "" : byWhom[of.revokedBy]}
        </span>
      ) : of.expiresAt !== null ? (
        <span class="soft block">
          {state === "expired" ? "since" : "until"} <Instant at={of.expiresAt} />
        </span>
      ) : null}
    </>
  )
}
