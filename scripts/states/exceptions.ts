/**
 * Words that are names of states elsewhere, and their other meaning where they are allowed. `npm run check` refuses an
 * unused exception.
 */

/** Code below these folders knows no state of an actor. */
export const otherRooms: Readonly<Record<string, string>> = {
  "src/agent/": "processes and pipes inside a Sandbox",
  "src/host/": "a driver's machines, and QEMU's words",
  "src/ops/postgres/": "the server's status file",
  "src/store/migrations/": "released steps never change"
}

export const otherFiles: Readonly<Record<string, string>> = {
  "src/app/ShutdownReport.ts": "what the host's inventory says of a machine",
  "src/fleet/canary.ts": "what the host's inventory says of a machine",
  "src/ops/backup/Restore.ts": "kinds of an archive's frames",
  "src/observe/analytics/Analytics.ts": "the API counts operations by outcome, each in a field of that name",
  "src/console/pages/KeyState.tsx": "how an API key stands"
}

/** By the compared expression: its text in the source, or the end of it. */
export const homonyms: Readonly<Record<string, string>> = {
  billing: "how an account is billed",
  "feed.state": "a stream of events in the page",
  how: "how a terminal ended",
  is: "the standing of a host, as `machines/host.ts` gives it",
  "now.state": "what the page knows of its session, or of an upload",
  outcome: "of a commit; of a create, as `machines/sandbox.ts` gives it; of the timeline's filter",
  processTree: "what is left of an operation's processes",
  "queue.state": "a queue",
  said: "whether the browser let the page copy",
  "shell.state": "a terminal in the page",
  soft: "a limit of the system",
  verdict: "what an event did in an explored machine",
  "verdict.type": "what a machine answers to an event",
  waitsFor: "what a client waits for",
  why: "why a request is refused",
  wish: "what the operator wants of a host"
}
