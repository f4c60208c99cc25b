/** The images of a runtime that cannot start a Sandbox from one. */
import { Effect } from "effect"
import type { PublicText } from "../../schemas/PublicText.ts"
import { type Images, RuntimeRefused, type SandboxSpec } from "./Runtime.ts"

const refused = (message: PublicText) => Effect.fail(new RuntimeRefused({ code: "IMAGE_UNSUPPORTED", message }))

/** @param message One sentence for the account: why there are none. */
export const noImages = (message: PublicText): Images => ({
  pull: () => refused(message),
  remove: () => Effect.void,
  inventory: Effect.succeed([])
})

/** Refuses a Sandbox that would get another root than its image. */
export const withoutImage = ({ image }: SandboxSpec, message: PublicText): Effect.Effect<void, RuntimeRefused> =>
  image === undefined ? Effect.void : refused(message)
