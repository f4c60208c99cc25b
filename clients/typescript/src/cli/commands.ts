/** All commands, in the order in which the help shows them. */
import type { Command, CommandGroup } from "./Command.ts"
import { completion } from "./completion/completion.ts"
import { cp } from "./cp/cp.ts"
import { events } from "./events.ts"
import { fork } from "./fork.ts"
import { forward } from "./forward.ts"
import { images } from "./images/images.ts"
import { login } from "./login.ts"
import { logout } from "./logout.ts"
import { logs } from "./logs.ts"
import { mcp } from "./mcp/mcp.ts"
import { open } from "./open.ts"
import { operation } from "./operation/operation.ts"
import { rollback } from "./rollback.ts"
import { run } from "./run/run.ts"
import { sandbox } from "./sandbox/sandbox.ts"
import { shell } from "./shell.ts"
import { snapshots } from "./snapshots/snapshots.ts"
import { ssh } from "./ssh.ts"
import { usage } from "./usage.ts"
import { whoami } from "./whoami.ts"

export const commands: ReadonlyArray<Command | CommandGroup> = [
  login,
  logout,
  whoami,
  sandbox,
  snapshots,
  images,
  fork,
  rollback,
  run,
  shell,
  cp,
  open,
  forward,
  ssh,
  logs,
  events,
  operation,
  usage,
  mcp,
  completion
]
