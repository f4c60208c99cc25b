/** The choice of a new Sandbox's image, where the account has one that is ready. */
import { useCallback } from "preact/hooks"
import type { ImageList } from "../../../../schemas/Image.ts"
import { get, queryOf } from "../api.ts"
import { useLoad } from "../load.ts"
import { Select } from "../ui/Field.tsx"

const ownRoot = ""

/** Null: the root is the host's own. */
export const imageIn = (data: FormData): string | null => String(data.get("imageId") ?? ownRoot) || null

export const ChooseImage = () => {
  const load = useCallback(
    (signal?: AbortSignal) => get<ImageList>(`/api/v2/images${queryOf({ status: "ready", limit: 100 })}`, signal),
    []
  )
  const images = useLoad("images for a Sandbox", load).value?.images ?? []
  if (images.length === 0) return null
  return (
    <Select
      label="Image"
      name="imageId"
      options={[
        [ownRoot, "None: the root of its host"] as const,
        ...images.map(({ id, name, reference }) => [id, name ?? reference ?? id] as const)
      ]}
    />
  )
}
