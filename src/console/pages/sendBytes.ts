/** Uploads bytes and reports the progress, which `fetch` cannot do. */
import { csrf, refuse, unreached } from "./api.ts"

interface Sending {
  readonly headers?: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  /** Bytes sent so far. */
  readonly progress: (sent: number) => void
}

/** Throws for what is no file, such as a dropped folder. */
export const firstBytes = async (file: File, count: number): Promise<Uint8Array> => {
  const bytes = await file
    .slice(0, count)
    .arrayBuffer()
    .catch(() => {
      throw new Error("The browser cannot read this file. It may be a folder, or it was changed or deleted.")
    })
  return new Uint8Array(bytes)
}

/** The response's text; throws a refusal. */
export const sendBytes = (
  method: "PUT" | "POST",
  path: string,
  bytes: Blob,
  { headers = { "content-type": "application/octet-stream" }, signal, progress }: Sending
): Promise<string> =>
  new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const sending = new XMLHttpRequest()
    const stop = () => sending.abort()
    const settle = (how: () => void) => {
      signal.removeEventListener("abort", stop)
      how()
    }
    sending.upload.addEventListener("progress", ({ loaded }) => progress(loaded))
    sending.addEventListener("load", () =>
      settle(() => {
        if (sending.status >= 200 && sending.status < 300) return resolve(sending.responseText)
        const id = sending.getResponseHeader("x-request-id")
        const answer = new Response(sending.responseText, {
          status: sending.status,
          headers: id === null ? {} : { "x-request-id": id }
        })
        refuse(answer).catch(reject)
      })
    )
    sending.addEventListener("error", () => settle(() => reject(unreached())))
    sending.addEventListener("abort", () => settle(() => reject(signal.reason)))
    signal.addEventListener("abort", stop)
    sending.open(method, path)
    if (csrf.value !== null) sending.setRequestHeader("x-atoll-csrf", csrf.value)
    for (const [name, value] of Object.entries(headers)) sending.setRequestHeader(name, value)
    sending.send(bytes)
  })
