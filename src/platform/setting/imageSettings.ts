/** The settings of images of Sandboxes. */
import { registries } from "./addresses.ts"
import { integer } from "./Setting.ts"

export const imageSettings = {
  imageBytesMax: integer(
    "ATOLL_IMAGE_BYTES_MAX",
    10 * 1024 ** 3,
    "Largest size of an image of Sandboxes, both compressed and unpacked."
  ),
  imageRegistries: registries(
    "ATOLL_IMAGE_REGISTRIES",
    "Registries of images that may have private addresses or no TLS, separated by commas. All others must have public addresses and HTTPS."
  )
}
