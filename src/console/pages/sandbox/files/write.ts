/** Calls of the API that change files. */
import type { FileStatResponse } from "../../../../../schemas/Files.ts"
import { ApiFault, ask, get, idempotencyKey } from "../../api.ts"
import { sendBytes } from "../../sendBytes.ts"
import { apiOf, nameOf, root, within } from "./address.ts"

/** Null: nothing exists at the path. */
export const statOf = async (
  sandboxId: string,
  path: string,
  signal?: AbortSignal
): Promise<FileStatResponse | null> => {
  try {
    return await get<FileStatResponse>(apiOf(sandboxId, "stat", path), signal)
  } catch (fault) {
    if (fault instanceof ApiFault && fault.code === "NOT_FOUND") return null
    throw fault
  }
}

const silent = { signal: new AbortController().signal, progress: () => {} }

/** Replaces the whole file without a check. */
export const putText = (sandboxId: string, path: string, text: string): Promise<unknown> =>
  sendBytes("PUT", apiOf(sandboxId, "content", path), new Blob([text]), silent)

/** @throws Error The name is taken. */
export const newFile = async (sandboxId: string, path: string): Promise<void> => {
  if ((await statOf(sandboxId, path)) !== null) throw new Error("This name is already in use here.")
  await putText(sandboxId, path, "")
}

export const newFolder = (sandboxId: string, path: string): Promise<void> =>
  ask("POST", apiOf(sandboxId, "directory", path), { body: {} })

export const rename = (sandboxId: string, path: string, destination: string, overwrite: boolean): Promise<void> =>
  ask("POST", apiOf(sandboxId, "rename", path), { body: { destination, overwrite } })

/** Deletes a directory with everything in it. */
export const remove = (sandboxId: string, path: string, isDirectory: boolean): Promise<void> =>
  ask("DELETE", apiOf(sandboxId, "", path, isDirectory ? { recursive: "true" } : {}))

/** The API's limit for one request. */
const pieceBytes = 8 * 1024 * 1024

interface Sent {
  readonly sandboxId: string
  readonly path: string
  readonly file: File
  readonly overwrite: boolean
  readonly signal: AbortSignal
  readonly progress: (sent: number) => void
}

/** Writes a piece at its place in the whole; idempotent. */
const join = async (sandboxId: string, folder: string, index: number, signal: AbortSignal): Promise<void> => {
  const argv = ["dd", "if=piece", "of=whole", `bs=${pieceBytes}`, `seek=${index}`, "conv=notrunc", "status=none"]
  const { result } = await ask<{ readonly result: { readonly exitCode: number | null; readonly stderr: string } }>(
    "POST",
    `/api/v2/sandboxes/${sandboxId}/execute`,
    { body: { argv, cwd: folder }, headers: { "idempotency-key": idempotencyKey() }, signal }
  )
  if (result.exitCode !== 0) throw new Error(`Could not join the pieces in the Sandbox: ${result.stderr.slice(0, 500)}`)
}

/**
 * Uploads a file larger than one request may be: a command in the Sandbox joins its pieces in a separate folder, and the whole is then moved to
 * its path atomically. The pieces of a failed upload are deleted.
 */
const sendInPieces = async ({ sandboxId, path, file, overwrite, signal, progress }: Sent): Promise<void> => {
  const folder = within(root, `.upload-${idempotencyKey()}`)
  await newFolder(sandboxId, folder)
  try {
    for (let index = 0; index * pieceBytes < file.size; index++) {
      const start = index * pieceBytes
      const piece = file.slice(start, start + pieceBytes)
      const to = within(folder, index === 0 ? "whole" : "piece")
      await sendBytes("PUT", apiOf(sandboxId, "content", to), piece, {
        signal,
        progress: (sent) => progress(start + sent)
      })
      if (index > 0) await join(sandboxId, folder, index, signal)
    }
    const whole = await statOf(sandboxId, within(folder, "whole"), signal)
    if (whole?.sizeBytes !== file.size)
      throw new Error("The joined file in the Sandbox has a different length than the original.")
    await rename(sandboxId, within(folder, "whole"), path, overwrite)
  } finally {
    await remove(sandboxId, folder, true).catch(() => {})
  }
}

export const send = (sent: Sent): Promise<unknown> =>
  sent.file.size <= pieceBytes
    ? sendBytes("PUT", apiOf(sent.sandboxId, "content", sent.path), sent.file, sent)
    : sendInPieces(sent)

/**
 * Lets the browser save a file as a stream, of any size. A link cannot send the CSRF header that the session's cookie needs, so it has a ticket
 * instead, which works once, within half a minute, and only with this session's cookie.
 */
export const download = async (sandboxId: string, path: string): Promise<void> => {
  // Errors are shown here first; a failed download shows no reason.
  await get(apiOf(sandboxId, "stat", path))
  const { ticket } = await ask<{ readonly ticket: string }>("POST", "/console/api/tickets")
  const link = document.createElement("a")
  link.href = `/console/api/sandboxes/${sandboxId}/download?${new URLSearchParams({ path, ticket })}`
  link.download = nameOf(path)
  link.click()
}
