/** The images of the account. No event tells of one: they are read again while one is being built, pulled or deleted. */
import { useCallback } from "preact/hooks"
import type { ImageList } from "../../../../schemas/Image.ts"
import type { Image } from "../../../../schemas/ImageRecord.ts"
import { get, queryOf } from "../api.ts"
import { type Page, usePages } from "../paged.ts"
import { isMovingImage } from "../states.ts"
import { useEvery } from "../useEvery.ts"

const kept = "building,pulling,ready,failed,deleting"
const againMs = 1000

export const useImages = () => {
  const load = useCallback(async (cursor: string | null, signal?: AbortSignal): Promise<Page<Image>> => {
    const query = queryOf({ status: kept, limit: 100, cursor })
    const { images, nextCursor } = await get<ImageList>(`/api/v2/images${query}`, signal)
    return { entries: images, nextCursor }
  }, [])
  const listed = usePages("images", load)
  useEvery(listed.entries.some(({ status }) => isMovingImage(status)) ? againMs : null, listed.reload)
  return listed
}
