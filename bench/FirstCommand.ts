import { randomUUID } from "node:crypto"
import type { Guest } from "../src/runtime/Guest.ts"

/** The command by which a start is measured. */
export const runTrue = (guest: Guest) =>
  guest.processes.execute(randomUUID(), {
    argv: ["true"],
    cwd: "/workspace",
    env: {},
    stdin: null,
    timeoutMs: null,
    output: { mode: "head", bytes: 1024 }
  })
