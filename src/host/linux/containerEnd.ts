/** Whether this process is the main process of a container, so that the container ends with it. */
import { readFileSync, readlinkSync } from "node:fs"

export interface PlaceInContainer {
  /** The link target of /proc/self/ns/pid. */
  readonly namespace: string
  readonly pid: number
  readonly parentPid: number
  /** Name of the namespace's process 1. */
  readonly init: string
}

/** The host's own process namespace. @source Linux include/uapi/linux/nsfs.h */
const HOSTS = "pid:[4026531836]"

/** Init programs that end when their child ends. */
const RELAYS = new Set(["docker-init", "tini", "catatonit", "dumb-init"])

/** Null on systems other than Linux: they have no process namespaces. */
const ownPlace = (): PlaceInContainer | null =>
  process.platform === "linux"
    ? {
        namespace: readlinkSync("/proc/self/ns/pid"),
        pid: process.pid,
        parentPid: process.ppid,
        init: readFileSync("/proc/1/comm", "latin1").trim()
      }
    : null

export const endsItsContainer = (place: PlaceInContainer | null = ownPlace()): boolean =>
  place !== null && place.namespace !== HOSTS && (place.pid === 1 || (place.parentPid === 1 && RELAYS.has(place.init)))
