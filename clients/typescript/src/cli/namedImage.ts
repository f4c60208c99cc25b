/** An image by its id, or by its name if only one that is not deleted has it. */
import type { Atoll } from "../Atoll.ts"
import type { ImageStatus } from "../generated/schemas.ts"
import type { Image } from "../Images.ts"
import { namedCopy } from "./namedCopy.ts"

const there: ReadonlyArray<ImageStatus> = ["building", "pulling", "ready", "failed"]
/** All but the deleted ones. */
export const kept: ReadonlyArray<ImageStatus> = [...there, "deleting"]

export const namedImage = ({ images }: Atoll, nameOrId: string): Promise<Image> =>
  namedCopy(
    {
      ...{ noun: "image", plural: "images", idForm: /^img_[0-9a-hjkmnp-tv-z]{26}$/, there },
      get: (id: string) => images.get(id),
      list: (options: { readonly status: ReadonlyArray<ImageStatus> }) => images.list(options)
    },
    nameOrId
  )
