/** What a build is given besides its context: sealed with the image, and read by the build alone. */
import { Effect, Schema } from "effect"
import type { ImageContext } from "../../../schemas/contexts/Image.ts"
import { SandboxEnvs } from "../../sandbox/SandboxEnvs.ts"

export interface RegistryLogin {
  readonly registry: string
  readonly username: string
  readonly password: string
}

export interface BuildSecrets {
  /** The text of the Dockerfile; null: it is a file of the context. */
  readonly dockerfile: string | null
  readonly args: Readonly<Record<string, string>>
  readonly login: RegistryLogin | null
}

const Args = Schema.fromJsonString(Schema.Record(Schema.String, Schema.String))
const encodeArgs = Schema.encodeSync(Args)
const decodeArgs = Schema.decodeSync(Args)

/** Names that no pull reads: hosts get no password of a build. */
export const sealedSecrets = ({ dockerfile, args, login }: BuildSecrets): Readonly<Record<string, string>> => ({
  buildArgs: encodeArgs(args),
  ...(dockerfile === null ? {} : { dockerfile }),
  ...(login === null
    ? {}
    : { registry: login.registry, registryUsername: login.username, registryPassword: login.password })
})

export const buildSecrets = Effect.map(
  SandboxEnvs,
  (envs) =>
    ({ imageId, credentials }: Pick<ImageContext, "imageId" | "credentials">): Effect.Effect<BuildSecrets> =>
      Effect.map(envs.read(imageId, credentials?.version ?? null), (sealed) => {
        const { dockerfile, buildArgs, registry, registryUsername, registryPassword } = sealed
        const hasLogin = registry !== undefined && registryUsername !== undefined && registryPassword !== undefined
        return {
          dockerfile: dockerfile ?? null,
          args: buildArgs === undefined ? {} : decodeArgs(buildArgs),
          login: hasLogin ? { registry, username: registryUsername, password: registryPassword } : null
        }
      })
)
