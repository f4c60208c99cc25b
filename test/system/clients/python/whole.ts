/** The program of the whole job, in both manners at a time, against a service with these settings. */
import { freePort } from "../../../support/freePort.ts"
import type { ServedAtoll } from "../../../support/ServedAtoll.ts"
import { type RunOptions, runPython, writeProgram } from "./Python.ts"

const retainedBytes = "1000000"

export const wholeSettings = {
  ATOLL_OUTPUT_RETENTION_BYTES: retainedBytes,
  ATOLL_VOLUME_BYTES: String(128 * 1024 ** 2),
  ATOLL_SERVICE_ACCESS: "on",
  ATOLL_COOPERATIVE: "on",
  ATOLL_SSH_PORT: "0"
}

/** @param name Of this run: nothing else on the service may have it. */
export const runWhole = async (
  served: ServedAtoll["Service"],
  folder: string,
  name: string,
  options: RunOptions = {}
): Promise<void> => {
  const programs = Object.entries(writeProgram(folder, "whole")).map(async ([manner, path]) => {
    const environment = {
      ATOLL_URL: `http://127.0.0.1:${served.port}`,
      ATOLL_API_KEY: served.key,
      NARROW_KEY: (await served.newKey(["usage:read"])).secret,
      SPARE_KEY: (await served.newKey(["sandbox:read"])).secret,
      NOBODYS_PORT: String(await freePort()),
      RETAINED_BYTES: retainedBytes,
      MANNER: `${manner}-${name}`
    }
    return runPython(path, environment, options).ended
  })
  await Promise.all(programs)
}
