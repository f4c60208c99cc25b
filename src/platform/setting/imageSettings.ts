/** The settings of images of Sandboxes. */
import { registries } from "./addresses.ts"
import { namedImages } from "./namedImages.ts"
import { file, integer } from "./Setting.ts"

export const imageSettings = {
  imageBytesMax: integer(
    "ATOLL_IMAGE_BYTES_MAX",
    10 * 1024 ** 3,
    "Largest size of an image of Sandboxes, both compressed and unpacked."
  ),
  buildSecondsMax: integer("ATOLL_BUILD_SECONDS_MAX", 1800, "Longest time of a build of a Dockerfile.", {
    minimum: 1,
    maximum: 86_400
  }),
  imageRegistries: registries(
    "ATOLL_IMAGE_REGISTRIES",
    "Registries of images that may have private addresses or no TLS, separated by commas. All others must have public addresses and HTTPS."
  ),
  operatorImages: namedImages(
    "ATOLL_IMAGES",
    "Images that all accounts may use, at no cost. They are pulled at the start. A tag is looked up once: another tag or digest here makes another image. One that is no longer here takes no new Sandboxes, and stays until no Sandbox and no snapshot has it. The same for all services of a fleet."
  ),
  imagesCredentialsFile: file(
    "ATOLL_IMAGES_CREDENTIALS",
    "File with the logins for the registries of ATOLL_IMAGES, in the form of containers-auth.json(5). It belongs to Atoll's user, and no other user may read it (chmod 600). Read at the start, and again at each pull. The same for all services of a fleet; hosts need none."
  )
}
