import { CgroupsExhausted } from "../linux/cgroups.ts"
import { saysDiskFull } from "../linux/diskRoom.ts"
import { UsersExhausted } from "../linux/HostUsers.ts"
import { LoopDevicesExhausted } from "./volume.ts"
import { DiskPromised } from "./volumeAdmission.ts"

/** The host has no room for a Sandbox now. */
export const isShortage = (cause: unknown): cause is Error =>
  cause instanceof LoopDevicesExhausted ||
  cause instanceof CgroupsExhausted ||
  cause instanceof UsersExhausted ||
  cause instanceof DiskPromised ||
  (cause instanceof Error && saysDiskFull(cause.message))
