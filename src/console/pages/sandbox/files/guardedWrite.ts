/** Writes an edited file only if it is unchanged since it was read: no change by others is overwritten unnoticed. */
import { ApiFault, ask } from "../../api.ts"
import { apiOf } from "./address.ts"
import { fits, type LineEnds, lineEndsOf, replacementFor } from "./edit.ts"
import { readRange, textOf } from "./readRange.ts"
import { sha256 } from "./sha256.ts"
import { putText } from "./write.ts"

/** Larger files are for other programs. */
export const editMaxBytes = 1024 * 1024

/** A file as it was when its editing began. */
export interface Base {
  readonly text: string
  readonly sha256: string
  readonly ends: Exclude<LineEnds, "mixed">
}

/** @throws Error The file cannot be edited here, with the reason. */
export const readBase = async (sandboxId: string, path: string, signal: AbortSignal): Promise<Base> => {
  const { bytes, eof } = await readRange(sandboxId, path, { maxBytes: editMaxBytes, cursor: null, signal })
  if (!eof) throw new Error("Files of more than 1 MiB cannot be edited here. Download it, or edit it in the Sandbox.")
  const text = textOf(bytes)
  if (text === null) throw new Error("This file is not UTF-8 text, so it cannot be edited here.")
  const ends = lineEndsOf(text)
  if (ends === "mixed") {
    throw new Error("Some lines of this file end with CR LF and others do not. Editing it here would change them.")
  }
  return { text, sha256: sha256(bytes), ends }
}

export type Written = "written" | "changed" | "gone"

const present = async (sandboxId: string, path: string): Promise<string> => {
  const { bytes } = await readRange(sandboxId, path, { maxBytes: 8 * editMaxBytes, cursor: null })
  return sha256(bytes)
}

const write = async (sandboxId: string, path: string, base: Base, after: string): Promise<Written> => {
  const replacement = replacementFor(base.text, after)
  const body = replacement === null ? null : { expectedSha256: base.sha256, ...replacement }
  if (body !== null && fits(body)) {
    await ask("PATCH", apiOf(sandboxId, "content", path), { body })
    return "written"
  }
  // An empty file has no passage to replace, and a large change fits no request: the file is checked, and then replaced completely.
  if ((await present(sandboxId, path)) !== base.sha256) return "changed"
  await putText(sandboxId, path, after)
  return "written"
}

/** Finds out whether the edit was applied although its response was lost. */
const settle = async (sandboxId: string, path: string, base: Base, after: string): Promise<Written | null> => {
  const now = await present(sandboxId, path).catch(() => base.sha256)
  if (now === sha256(new TextEncoder().encode(after))) return "written"
  return now === base.sha256 ? null : "changed"
}

export const guardedWrite = async (sandboxId: string, path: string, base: Base, after: string): Promise<Written> => {
  try {
    return after === base.text ? "written" : await write(sandboxId, path, base, after)
  } catch (fault) {
    if (!(fault instanceof ApiFault)) throw fault
    if (fault.code === "PRECONDITION_FAILED") return "changed"
    if (fault.code === "NOT_FOUND") return "gone"
    const settled = fault.status === null || fault.status >= 500 ? await settle(sandboxId, path, base, after) : null
    if (settled === null) throw fault
    return settled
  }
}
