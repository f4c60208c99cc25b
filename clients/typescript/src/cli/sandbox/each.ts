/** Does one thing to each of several Sandboxes. */
import type { Sandbox } from "../../Sandbox.ts"
import type { Given } from "../Command.ts"
import { eachNamed } from "../eachNamed.ts"
import { namedSandbox } from "../namedSandbox.ts"

/** @param past `stopped`: the word that reports success. */
export const each = (given: Given, past: string, act: (sandbox: Sandbox) => Promise<unknown>): Promise<number> =>
  eachNamed(given, { field: "sandboxes", past }, namedSandbox, act)
