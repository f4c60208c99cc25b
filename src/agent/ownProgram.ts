/**
 * The programs that the agent runs for itself: those of the Sandbox, or, where its root is an image that may have none, those in the folder
 * `ATOLL_AGENT_PROGRAMS`, which has its own loader and libraries.
 */
import { existsSync } from "node:fs"

const folder = process.env["ATOLL_AGENT_PROGRAMS"]

// It is for the agent's own libraries. A command would load them in the place of its root's.
delete process.env["LD_LIBRARY_PATH"]

/** The beginning of an argv. */
export const ownProgram = (name: "sh" | "script" | "stty" | "mkfifo" | "sync"): readonly [string, ...Array<string>] =>
  folder === undefined
    ? [name === "sh" ? "/bin/sh" : name]
    : [`${folder}/ld.so`, "--library-path", `${folder}/lib`, `${folder}/bin/${name}`]

/** The Sandbox's shell, in which terminals start; null: it has none. */
export const shell = ["/bin/bash", "/bin/sh"].find((it) => existsSync(it)) ?? null
