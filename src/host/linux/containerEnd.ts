/** Whether a container, with all processes in it, ends with this process. */
import { readFileSync, readlinkSync } from "node:fs"

export interface PlaceInContainer {
  /** As /proc/self/ns/pid names it. */
  readonly namespace: string
  readonly pid: number
  readonly parentPid: number
  /** Name of the namespace's first process. */
  readonly init: string
}

/** Linux include/uapi/linux/nsfs.h: the process namespace that is no container's. */
const HOSTS = "pid:[4026531836]"

/** Inits that end when what they were told to start does. */
const RELAYS = new Set(["docker-init", "tini", "catatonit", "dumb-init"])

/** Null where there are no such namespaces: not on Linux. */
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
