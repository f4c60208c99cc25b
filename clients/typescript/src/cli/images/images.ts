/** `atoll images` */
import type { CommandGroup } from "../Command.ts"
import { build } from "./buildImage.ts"
import { remove } from "./deleteImages.ts"
import { list } from "./listImages.ts"
import { load } from "./loadImage.ts"
import { pull } from "./pullImage.ts"
import { show } from "./showImage.ts"

export const images: CommandGroup = {
  name: "images",
  summary: "Pull, build, load, see and delete images for Sandboxes' roots",
  commands: [pull, build, load, list, show, remove]
}
