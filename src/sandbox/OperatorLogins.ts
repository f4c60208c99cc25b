/**
 * The operator's names and passwords for the registries of ATOLL_IMAGES. They are only for images of the operator: a pull of an account never gets them.
 *
 * The file is read at the start, which an unusable one stops, and at each use, so that a new password counts immediately. A file that became unusable is
 * reported in the log, and the logins that were last read stay in use.
 */
import { Context, Effect, Layer, Redacted } from "effect"
import { Settings, SettingsUnusable } from "../Config.ts"
import { readRegistryAuths } from "../platform/registryAuth/readRegistryAuths.ts"
import { loginFor } from "../platform/registryAuth/registryAuths.ts"
import type { ImageSource } from "../runtime/Runtime.ts"

const read = (path: string) =>
  Effect.tryPromise({
    try: () => readRegistryAuths(path),
    catch: (cause) => new SettingsUnusable({ message: cause instanceof Error ? cause.message : String(cause) })
  })

export class OperatorLogins extends Context.Service<
  OperatorLogins,
  {
    /** Null: the registry is asked without. */
    readonly of: (reference: string) => Effect.Effect<ImageSource["credentials"]>
  }
>()("atoll/sandbox/OperatorLogins") {
  /** Needs Settings. */
  static readonly layer = Layer.effect(
    OperatorLogins,
    Effect.gen(function* () {
      const { imagesCredentialsFile: path } = yield* Settings
      if (path === null) return { of: () => Effect.succeed(null) }
      let auths = yield* read(path)
      const refreshed = read(path).pipe(
        Effect.map((found) => {
          auths = found
        }),
        Effect.catchTag("SettingsUnusable", ({ message }) =>
          Effect.logWarning(`${message} The logins that were last read stay in use.`)
        )
      )
      return {
        of: Effect.fnUntraced(function* (reference) {
          yield* refreshed
          const login = loginFor(auths, reference)
          return login === null
            ? null
            : { username: login.username, password: Redacted.make(login.password, { label: "registry password" }) }
        })
      }
    })
  )
}
