/** A image by its id, or by its name if only one that is not deleted has it. */
import type { Atoll } from "../Atoll.ts"
import { AtollError } from "../errors.ts"
import type { ImageStatus } from "../generated/schemas.ts"
import type { Image } from "../Images.ts"
import { Refused } from "./failure.ts"

/** All but the deleted ones. */
export const kept: ReadonlyArray<ImageStatus> = ["pulling", "ready", "failed", "deleting"]

const idForm = /^img_[0-9a-hjkmnp-tv-z]{26}$/

const absent = (nameOrId: string, cause?: unknown) =>
  new Refused(
    `There is no image ${JSON.stringify(nameOrId)}. \`atoll images list\` shows the account's images.`,
    null,
    cause
  )

export const namedImage = async (atoll: Atoll, nameOrId: string): Promise<Image> => {
  if (idForm.test(nameOrId)) {
    return atoll.images.get(nameOrId).catch((thrown: unknown) => {
      throw thrown instanceof AtollError && thrown.is("NOT_FOUND") ? absent(nameOrId, thrown) : thrown
    })
  }
  const found: Array<Image> = []
  for await (const image of atoll.images.list({ status: kept.filter((status) => status !== "deleting") })) {
    if (image.record.name === nameOrId) found.push(image)
  }
  const [one, ...others] = found
  if (one === undefined) throw absent(nameOrId)
  if (others.length > 0) {
    const ids = found.map(({ id }) => id).join(", ")
    throw new Refused(`${found.length} images have the name ${JSON.stringify(nameOrId)}. Say which, by its id: ${ids}`)
  }
  return one
}
