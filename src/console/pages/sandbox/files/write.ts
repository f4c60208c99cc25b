/** What changes files, as the API has it. */
import type { FileStatResponse } from "../../../../../schemas/Files.ts"
import { ApiFault, ask, get, idempotencyKey } from "../../api.ts"
import { apiOf, nameOf, root, within } from "./address.ts"
import { putBytes } from "./putBytes.ts"

/** Null: there is nothing. */
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

/** The file is replaced whole, whatever it holds. */
export const putText = (sandboxId: string, path: string, text: string): Promise<void> =>
  putBytes(apiOf(sandboxId, "content", path), new Blob([text]), silent)

/** @throws Error There is something of this name. */
export const newFile = async (sandboxId: string, path: string): Promise<void> => {
  if ((await statOf(sandboxId, path)) !== null) throw new Error("There is something of this name here already.")
  await putText(sandboxId, path, "")
}

export const newFolder = (sandboxId: string, path: string): Promise<void> =>
  ask("POST", apiOf(sandboxId, "directory", path), { body: {} })

export const rename = (sandboxId: string, path: string, destination: string, overwrite: boolean): Promise<void> =>
  ask("POST", apiOf(sandboxId, "rename", path), { body: { destination, overwrite } })

/** A directory goes with everything in it. */
export const remove = (sandboxId: string, path: string, isDirectory: boolean): Promise<void> =>
  ask("DELETE", apiOf(sandboxId, "", path, isDirectory ? { recursive: "true" } : {}))

/** What the API takes in one request. */
const pieceBytes = 8 * 1024 * 1024

interface Sent {
  readonly sandboxId: string
  readonly path: string
  readonly file: File
  readonly overwrite: boolean
  readonly signal: AbortSignal
  readonly progress: (sent: number) => void
}

/** Puts a piece at its place in the whole: done twice it is the same. */
const join = async (sandboxId: string, folder: string, index: number, signal: AbortSignal): Promise<void> => {
  const argv = ["dd", "if=piece", "of=whole", `bs=${pieceBytes}`, `seek=${index}`, "conv=notrunc", "status=none"]
  const { result } = await ask<{ readonly result: { readonly exitCode: number | null; readonly stderr: string } }>(
    "POST",
    `/api/v2/sandboxes/${sandboxId}/execute`,
    { body: { argv, cwd: folder }, headers: { "idempotency-key": idempotencyKey() }, signal }
  )
  if (result.exitCode !== 0)
    throw new Error(`The pieces could not be joined in the Sandbox: ${result.stderr.slice(0, 500)}`)
}

/**
 * Sends a file that is larger than one request may be: its pieces are joined by a command in the Sandbox, beside what there is, and the whole takes
 * its place at once. What was sent of one that fails is removed.
 */
const sendInPieces = async ({ sandboxId, path, file, overwrite, signal, progress }: Sent): Promise<void> => {
  const folder = within(root, `.upload-${idempotencyKey()}`)
  await newFolder(sandboxId, folder)
  try {
    for (let index = 0; index * pieceBytes < file.size; index++) {
      const start = index * pieceBytes
      const piece = file.slice(start, start + pieceBytes)
      const to = within(folder, index === 0 ? "whole" : "piece")
      await putBytes(apiOf(sandboxId, "content", to), piece, { signal, progress: (sent) => progress(start + sent) })
      if (index > 0) await join(sandboxId, folder, index, signal)
    }
    const whole = await statOf(sandboxId, within(folder, "whole"), signal)
    if (whole?.sizeBytes !== file.size) throw new Error("What came together in the Sandbox is not as long as the file.")
    await rename(sandboxId, within(folder, "whole"), path, overwrite)
  } finally {
    await remove(sandboxId, folder, true).catch(() => {})
  }
}

export const send = (sent: Sent): Promise<void> =>
  sent.file.size <= pieceBytes
    ? putBytes(apiOf(sent.sandboxId, "content", sent.path), sent.file, sent)
    : sendInPieces(sent)

/**
 * Has the browser save a file as it comes, however large it is. A link cannot send what the session's cookie needs beside it: a ticket goes instead,
 * which works once, within half a minute, and with this session's cookie only.
 */
export const download = async (sandboxId: string, path: string): Promise<void> => {
  // What is wrong is said here; a download that fails only says that it does.
  await get(apiOf(sandboxId, "stat", path))
  const { ticket } = await ask<{ readonly ticket: string }>("POST", "/console/api/tickets")
  const link = document.createElement("a")
  link.href = `/console/api/sandboxes/${sandboxId}/download?${new URLSearchParams({ path, ticket })}`
  link.download = nameOf(path)
  link.click()
}
