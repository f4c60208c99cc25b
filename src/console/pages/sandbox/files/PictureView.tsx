/**
 * Shows a picture: its bytes are loaded like any content, decoded by the browser, and drawn on a canvas. It has no URL, so
 * no other page can request it, and the page's policy stays unchanged.
 */
import { useEffect, useRef, useState } from "preact/hooks"
import { count } from "../../format.ts"
import { Fault } from "../../ui/Fault.tsx"
import type { Picture } from "./picture.ts"
import { readRange } from "./readRange.ts"
import { visibleName } from "./visible.ts"

/** The API's maximum for one read. */
export const pictureMaxBytes = 8 * 1024 * 1024
const pixelsMax = 40_000_000

interface Shown {
  readonly sandboxId: string
  readonly path: string
  readonly name: string
  readonly picture: Picture
}

export const PictureView = ({ sandboxId, path, name, picture: { type, width, height } }: Shown) => {
  const canvas = useRef<HTMLCanvasElement>(null)
  const [fault, setFault] = useState<unknown>(null)
  const isTooLarge = width * height > pixelsMax
  useEffect(() => {
    if (isTooLarge) return
    const abort = new AbortController()
    const draw = async () => {
      const { bytes } = await readRange(sandboxId, path, {
        maxBytes: pictureMaxBytes,
        cursor: null,
        signal: abort.signal
      })
      const bitmap = await createImageBitmap(new Blob([bytes], { type })).catch(() => null)
      const shown = canvas.current
      if (bitmap === null) throw new Error("The browser cannot decode this picture.")
      if (shown === null || abort.signal.aborted) return bitmap.close()
      shown.width = bitmap.width
      shown.height = bitmap.height
      shown.getContext("bitmaprenderer")?.transferFromImageBitmap(bitmap)
    }
    draw().catch((cause: unknown) => {
      if (!abort.signal.aborted) setFault(cause)
    })
    return () => abort.abort()
  }, [sandboxId, path, type, isTooLarge])
  const size = `${count(width)} × ${count(height)} pixels`
  if (isTooLarge) return <p class="notice">This picture is {size}, which is too large to be shown here. Download it.</p>
  return (
    <>
      <Fault fault={fault} />
      {fault === null ? (
        <figure class="picture">
          <canvas ref={canvas} role="img" aria-label={`The picture ${visibleName(name)}`} />
          <figcaption class="hint">
            {size}
            {type === "image/gif" ? ", the first frame" : ""}
          </figcaption>
        </figure>
      ) : null}
    </>
  )
}
