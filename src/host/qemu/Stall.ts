/**
 * A machine that QEMU has paused because the host's disk did not take a write. Nothing of it is lost: it goes on where it was when the write can
 * be done.
 *
 * @source QEMU qapi/block-core.json BLOCK_IO_ERROR, qapi/run-state.json RunState
 */
import { statfs } from "node:fs/promises"
import { publicText } from "../../../schemas/PublicText.ts"
import type { RuntimeStall } from "../../runtime/Runtime.ts"
import type { QmpEvent } from "./Qmp.ts"

export type StallReason = Extract<RuntimeStall, { readonly type: "stalled" }>["reason"]

/** With less than this it would only pause again. */
const ROOM_MIN_BYTES = 64 * 1024 ** 2

const FULL: StallReason = {
  code: "HOST_FULL",
  message: publicText`This host has no room left on its disk. The Sandbox waits, and goes on by itself when there is some.`
}
const FAILED: StallReason = {
  code: "HOST_FAILED",
  message: publicText`This host's disk does not take what the Sandbox writes. The Sandbox waits, and goes on by itself when it does.`
}

/** Null when this is no event of a machine that was paused. */
export const stallOf = ({ event, data }: QmpEvent): StallReason | null => {
  if (event !== "BLOCK_IO_ERROR" || data["action"] !== "stop") return null
  return data["nospace"] === true ? FULL : FAILED
}

/** From the answer to `query-status`: for a machine that was paused while nobody listened. */
export const isStalled = (status: unknown): boolean => statusOf(status) === "io-error"
export const isRunning = (status: unknown): boolean => statusOf(status) === "running"

const statusOf = (status: unknown): unknown =>
  typeof status === "object" && status !== null && "status" in status ? status.status : null

const hasRoom = async (folder: string): Promise<boolean> => {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize >= ROOM_MIN_BYTES
}

/** Why a machine was paused of which only that is known. */
export const likelyReason = async (folder: string): Promise<StallReason> => ((await hasRoom(folder)) ? FAILED : FULL)

/** Whether it is worth to let the machine try again. */
export const isWorthTrying = async (reason: StallReason, folder: string): Promise<boolean> =>
  reason.code !== "HOST_FULL" || (await hasRoom(folder))
