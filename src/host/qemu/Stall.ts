/**
 * A machine that QEMU has paused because the host's disk did not accept a write. No data is lost: the machine continues when the write succeeds.
 *
 * @source QEMU qapi/block-core.json BLOCK_IO_ERROR, qapi/run-state.json RunState
 */
import { statfs } from "node:fs/promises"
import { publicText } from "../../../schemas/PublicText.ts"
import type { RuntimeStall } from "../../runtime/Runtime.ts"
import type { QmpEvent } from "./Qmp.ts"

export type StallReason = Extract<RuntimeStall, { readonly type: "stalled" }>["reason"]

/** With less room the machine would immediately pause again. */
const ROOM_MIN_BYTES = 64 * 1024 ** 2

const FULL: StallReason = {
  code: "HOST_FULL",
  message: publicText`This host's disk is full. The Sandbox waits, and goes on by itself when there is room.`
}
const FAILED: StallReason = {
  code: "HOST_FAILED",
  message: publicText`This host's disk refuses the Sandbox's writes. The Sandbox waits, and goes on by itself when they succeed.`
}

/** Null when the event does not mean that a machine was paused. */
export const stallOf = ({ event, data }: QmpEvent): StallReason | null => {
  if (event !== "BLOCK_IO_ERROR" || data["action"] !== "stop") return null
  return data["nospace"] === true ? FULL : FAILED
}

/** Reads the answer to `query-status`, for a machine that was paused while the service was not connected. */
export const isStalled = (status: unknown): boolean => statusOf(status) === "io-error"
export const isRunning = (status: unknown): boolean => statusOf(status) === "running"

const statusOf = (status: unknown): unknown =>
  typeof status === "object" && status !== null && "status" in status ? status.status : null

const hasRoom = async (folder: string): Promise<boolean> => {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize >= ROOM_MIN_BYTES
}

/** The likely reason when only the pause is known. */
export const likelyReason = async (folder: string): Promise<StallReason> => ((await hasRoom(folder)) ? FAILED : FULL)

/** Whether letting the machine retry could succeed. */
export const isWorthTrying = async (reason: StallReason, folder: string): Promise<boolean> =>
  reason.code !== "HOST_FULL" || (await hasRoom(folder))
