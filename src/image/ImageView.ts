/** Converts an image's record to the contract's form. */
import { imageOfThisVersion } from "../../machines/image.ts"
import type { ImageContext } from "../../schemas/contexts/Image.ts"
import type { Image, ImageStatus } from "../../schemas/ImageRecord.ts"

import { operatorAccount } from "../store/Actors.ts"

const instant = (ms: number) => new Date(ms).toISOString()
const instantOrNull = (ms: number | null) => (ms === null ? null : instant(ms))

const buildView = ({ build }: ImageContext): Image["build"] => {
  if (build === null) return null
  const { sandboxId, operationId, dockerfile, target } = build
  return { sandboxId, operationId, dockerfile, target }
}

const viewOf = (status: string, context: ImageContext): Image => ({
  id: context.imageId,
  operator: context.accountId === operatorAccount,
  name: context.name,
  reference: context.reference,
  build: buildView(context),
  digest: context.digest,
  status: status as ImageStatus,
  statusReason: context.statusReason,
  sizeBytes: context.sizeBytes,
  storedBytes: context.storedBytes,
  createdAt: instant(context.createdAt),
  readyAt: instantOrNull(context.readyAt),
  deletedAt: instantOrNull(context.deletedAt)
})

/** Also for a context stored by an older version. */
export const imageView = (status: string, context: ImageContext): Image => viewOf(status, imageOfThisVersion(context))
