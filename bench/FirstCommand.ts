import { randomUUID } from "node:crypto"
import type { Guest } from "../src/runtime/Guest.ts"

/** The command that a start is measured with. */
export const runTrue = (guest: Guest) =>
  guest.processes.execute(randomUUID(), {
    argv: ["true"],
    cwd: "/workspace",
    env: {},
    stdin: null,
    timeoutMs: null,
    output: { mode: "head", bytes: 1024 }
  })
