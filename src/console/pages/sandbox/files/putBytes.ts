/** Uploads bytes and reports the progress, which `fetch` cannot do. */
import { csrf, refuse, unreached } from "../../api.ts"

interface Sending {
  readonly signal: AbortSignal
  /** Bytes sent so far. */
  readonly progress: (sent: number) => void
}

export const putBytes = (path: string, bytes: Blob, { signal, progress }: Sending): Promise<void> =>
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
        if (sending.status >= 200 && sending.status < 300) return resolve()
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
    sending.open("PUT", path)
    if (csrf.value !== null) sending.setRequestHeader("x-atoll-csrf", csrf.value)
    sending.setRequestHeader("content-type", "application/octet-stream")
    sending.send(bytes)
  })
