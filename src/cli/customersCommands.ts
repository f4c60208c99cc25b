/**
 * The commands of the customer's command line (clients/typescript/CLI.md) that `npm run atoll` passes on. `usage` is the operator's;
 * `completion` completes the installed program.
 */
export const customersCommands: ReadonlySet<string> = new Set([
  "login",
  "logout",
  "whoami",
  "sandbox",
  "snapshots",
  "images",
  "fork",
  "rollback",
  "run",
  "shell",
  "cp",
  "open",
  "forward",
  "ssh",
  "logs",
  "events",
  "operation",
  "mcp"
])
