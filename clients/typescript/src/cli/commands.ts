/** All commands, in the order in which the help shows them. */
import type { Command, CommandGroup } from "./Command.ts"
import { login } from "./login.ts"
import { logout } from "./logout.ts"
import { run } from "./run/run.ts"
import { sandbox } from "./sandbox/sandbox.ts"

export const commands: ReadonlyArray<Command | CommandGroup> = [login, logout, sandbox, run]
