/** What the commands that make an image answer. */
import type { Image } from "../../Images.ts"
import { answer, remark } from "../standardStreams.ts"

export const answerImage = async (given: { readonly isJson: boolean }, image: Image): Promise<void> => {
  await answer(given, image.id, { image: image.record })
  if (given.isJson || !process.stdout.isTTY) return
  remark(`It is ${image.status}. A Sandbox with it: \`atoll sandbox create --image ${image.id}\``)
}
