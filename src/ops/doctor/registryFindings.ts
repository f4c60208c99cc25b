/** Checks the file of logins for the registries of ATOLL_IMAGES. */
import type { SettingsShape } from "../../Config.ts"
import { readRegistryAuths } from "../../platform/registryAuth/readRegistryAuths.ts"
import { loginFor } from "../../platform/registryAuth/registryAuths.ts"
import { type Finding, fine, limited, missing } from "./Finding.ts"

const name = "registries"

type RegistrySettings = Pick<SettingsShape, "role" | "imagesCredentialsFile" | "operatorImages">

/** A host pulls with what its services send. */
export const registryFindings = async (settings: RegistrySettings): Promise<ReadonlyArray<Finding>> => {
  const { role, imagesCredentialsFile: path, operatorImages } = settings
  if (path === null || role === "host") return []
  try {
    const auths = await readRegistryAuths(path)
    const isUsed = operatorImages.some(({ reference }) => loginFor(auths, reference) !== null)
    return [
      isUsed || auths.size === 0
        ? fine(name, `ATOLL_IMAGES_CREDENTIALS can be read. Logins: ${auths.size}.`)
        : limited(
            name,
            "No image of ATOLL_IMAGES is of a registry that ATOLL_IMAGES_CREDENTIALS has a login for.",
            "Correct the keys of auths: a registry as in the reference, or with a namespace, such as registry.example/team."
          )
    ]
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    return [missing(name, reason, "Correct the file, or unset ATOLL_IMAGES_CREDENTIALS.")]
  }
}
