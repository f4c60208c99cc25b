/**
 * Which suites of the HTTP contract are run over a fleet of two services and two hosts as well (`npm run test:fleet`), and why others are not.
 * Every suite that serves the API is in one of the two.
 */

export const overAFleet: ReadonlyArray<string> = [
  "test/account/audit.test.ts",
  "test/account/keys.test.ts",
  "test/account/limits.test.ts",
  "test/account/suspension.test.ts",
  "test/clients/cli/cli.test.ts",
  "test/clients/python/library.test.ts",
  "test/clients/typescript/connections.test.ts",
  "test/clients/typescript/directories.test.ts",
  "test/clients/typescript/files.test.ts",
  "test/clients/typescript/library.test.ts",
  "test/console/server/cli.test.ts",
  "test/console/server/downloads.test.ts",
  "test/console/server/foreign.test.ts",
  "test/console/server/keys.test.ts",
  "test/console/server/sessions.test.ts",
  "test/console/server/tickets.test.ts",
  "test/files/contract.namespace.test.ts",
  "test/http/audited.test.ts",
  "test/http/credit.test.ts",
  "test/http/edge.test.ts",
  "test/http/events.test.ts",
  "test/http/fuzz.test.ts",
  "test/http/history.test.ts",
  "test/http/largeBodies.test.ts",
  "test/http/logStream.test.ts",
  "test/http/machines.test.ts",
  "test/http/openapi.test.ts",
  "test/http/openapiExamples.test.ts",
  "test/http/operations.test.ts",
  "test/http/outputStream.test.ts",
  "test/http/prepaid.test.ts",
  "test/http/sandboxChanges.test.ts",
  "test/http/streamEnds.test.ts",
  "test/http/usage.test.ts",
  "test/http/watching.test.ts",
  "test/http/ways.test.ts",
  "test/http/workspaces.test.ts",
  "test/mcp/mcp.test.ts",
  "test/terminal/namespace.test.ts"
]

/** Of those suites: single tests that only one process with simulated machines can pass, by their names; the reason. */
export const inProcessOnly: Readonly<Record<string, string>> = {
  "has each call that changes something, with key, outcome, request id and address, newest first":
    "a client of the loopback",
  "can be ended from another, one by one and all at once": "a client of the loopback",
  "are shown once, and listed with their hint, scopes, end, last use and from where": "a client of the loopback",
  "opens previews, forwards ports, and connects by ssh": "the SSH port is in a service's own network",
  "a grant is recovered with the same keys and revoked, never confirmed": "the port is a balancer's",
  "has a call whose caller went away before its answer": "a command of simulated machines",
  "an action is the OpenAPI's operationId, and the log can be asked for each": "a command of simulated machines",
  "tells each step that the stream told, thing by thing, whatever the size of a page":
    "a command of simulated machines",
  "is the account's own, needs the scope to read, and outlives the Sandbox": "a command of simulated machines",
  "execute answers what the command did": "a command of simulated machines",
  "a command that takes too long is 408, with what it had said": "a command of simulated machines",
  "are listed with what they are, and one is ended by its id": "a command of simulated machines",
  "output that was read to where it is now has its end only once the operation has ended":
    "a command of simulated machines",
  "what it did not take is told with the reason, those that came first": "a command of simulated machines",
  "wait takes 0 to 30 seconds, and may come without a body": "a command of simulated machines",
  "loses none of several that come at once": "simulated machines give commands no variables of their own",
  "gives variables to every command that begins afterwards, and a command's own win by name":
    "simulated machines give commands no variables of their own",
  "the life of a Sandbox: what it used, what that cost, and what left the wallet":
    "Sandboxes of a fleet of tests are smaller",
  "one is created empty, listed newest first, and counts its Sandboxes and their volumes":
    "Sandboxes of a fleet of tests are smaller",
  "are measured from the commit to the delivery, with what an earlier transaction held up":
    "metrics are of one process",
  "asks for metrics, labels and values that there are": "metrics are of one process",
  "are so many for an account, and a place is free when its client has gone": "each service counts those of its own",
  "is held back by who does not read, or pauses, and costs no memory meanwhile":
    "a way over more processes holds some megabytes more"
}

/** By suite: the reason. */
export const inProcess: Readonly<Record<string, string>> = {
  "test/clients/examples.test.ts": "how examples look, not what they reach; they hold up machines of their own process",
  "test/clients/gigabyte.test.ts":
    "measures programs of clients; its Sandboxes are of a driver of its own process, with volumes for a gigabyte",
  "test/console/pages/account.test.ts": "what a browser shows",
  "test/console/pages/attacks.test.ts": "what a browser shows",
  "test/console/pages/console.test.ts": "what a browser shows",
  "test/console/pages/files.test.ts": "what a browser shows",
  "test/console/pages/machines.test.ts": "what a browser shows; holds up machines of its own process",
  "test/console/pages/parts.test.ts": "what a browser shows; holds up machines of its own process",
  "test/console/pages/sandbox/real.test.ts": "what a browser shows",
  "test/console/pages/timeline.test.ts": "what a browser shows",
  "test/console/pages/whole.test.ts": "what a browser shows",
  "test/console/pages/windows.test.ts": "what a browser shows",
  "test/console/server/bruteForce.test.ts": "asks the services' own Attempts and Passphrases",
  "test/console/server/registration.test.ts": "reads the service's log",
  "test/files/archiveCalls.test.ts": "measures the agent and the memory of the service, both in its own process",
  "test/files/contract.agent.test.ts": "an agent of its own process beside simulated machines",
  "test/files/contract.qemu.test.ts": "machines of the qemu driver, which boot for minutes here",
  "test/files/lostGuest.test.ts": "breaks the guest in its own process",
  "test/http/faults.test.ts": "breaks the service from within and reads its log",
  "test/http/lostAnswers.test.ts": "cuts the wire to the database of its own process",
  "test/http/metrics.test.ts": "counts what machines of its own process do; metrics are of one process",
  "test/http/outage.test.ts": "reads the service's log; the database's faults are those of the fault sweep",
  "test/http/proxies.test.ts": "which proxy is believed, by addresses of the loopback; reads the service's log",
  "test/http/requestLog.test.ts": "reads the service's log",
  "test/http/runningWait.test.ts": "holds up machines of its own process, and shortens the wait",
  "test/http/sandboxes.test.ts": "refuses and holds up boots of machines of its own process",
  "test/http/tls.test.ts": "the certificates of one service, which its balancer would need too",
  "test/http/traces.test.ts": "reads the spans of its own process",
  "test/terminal/qemu.test.ts": "machines of the qemu driver, which boot for minutes here",
  "test/terminal/terminal.test.ts": "holds up machines of its own process",
  "test/wallet/metrics.test.ts": "metrics are of one process"
}
