/** Sends the archive of a form, with its progress. It breaks off when the form is closed. */
import type { ComponentChildren } from "preact"
import { useEffect, useMemo, useState } from "preact/hooks"
import type { Image, ImageResponse } from "../../../../schemas/ImageRecord.ts"
import { size } from "../format.ts"
import { firstBytes, sendBytes } from "../sendBytes.ts"
import { Field } from "../ui/Field.tsx"
import { useKeys } from "../useKeys.ts"

const leaving = (event: BeforeUnloadEvent): void => event.preventDefault()

const isGzip = ([first, second]: Uint8Array): boolean => first === 0x1f && second === 0x8b

export const useArchive = (hint: ComponentChildren) => {
  const [sent, setSent] = useState(0)
  const [total, setTotal] = useState(0)
  const keyOf = useKeys()
  const abort = useMemo(() => new AbortController(), [])
  useEffect(() => () => abort.abort(), [])

  const send = async (path: string, data: FormData, takesGzip: boolean): Promise<Image> => {
    const file = data.get("archive") as File
    const isPacked = isGzip(await firstBytes(file, 2))
    if (isPacked && !takesGzip)
      throw new Error("This file is compressed as a whole. Unpack it first, such as with gunzip.")
    setSent(0)
    setTotal(file.size)
    addEventListener("beforeunload", leaving)
    try {
      const text = await sendBytes("POST", path, file, {
        headers: {
          "content-type": "application/x-tar",
          ...(isPacked ? { "content-encoding": "gzip" } : {}),
          "idempotency-key": keyOf(path, [file.name, file.size, file.lastModified])
        },
        signal: abort.signal,
        progress: setSent
      })
      return (JSON.parse(text) as ImageResponse).image
    } finally {
      removeEventListener("beforeunload", leaving)
      setTotal(0)
    }
  }

  const field = (
    <>
      <Field label="Archive" name="archive" type="file" required hint={hint} />
      {total === 0 ? null : (
        <p class="soft">
          <progress value={sent} max={total} aria-label="Sent" /> {size(sent)} of {size(total)}
        </p>
      )}
    </>
  )
  return { send, field }
}
