/**
 * The suites of the HTTP contract: every one that serves the API, or has a gateway. They are run over a fleet of two services and two hosts as well
 * (`npm run test:fleet`), or it is said why not.
 */

export const overAFleet: ReadonlyArray<string> = [
  "test/account/audit.test.ts",
  "test/account/keys.test.ts",
  "test/account/limits.test.ts",
  "test/account/suspension.test.ts",
  "test/clients/cli/cli.test.ts",
  "test/clients/examples.test.ts",
  "test/clients/gigabyte.test.ts",
  "test/clients/python/library.test.ts",
  "test/clients/typescript/connections.test.ts",
  "test/clients/typescript/directories.test.ts",
  "test/clients/typescript/files.test.ts",
  "test/clients/typescript/library.test.ts",
  "test/console/pages/account.test.ts",
  "test/console/pages/attacks.test.ts",
  "test/console/pages/commands.test.ts",
  "test/console/pages/console.test.ts",
  "test/console/pages/files.test.ts",
  "test/console/pages/machines.test.ts",
  "test/console/pages/parts.test.ts",
  "test/console/pages/sandbox/real.test.ts",
  "test/console/pages/timeline.test.ts",
  "test/console/pages/whole.test.ts",
  "test/console/pages/windows.test.ts",
  "test/console/server/bruteForce.test.ts",
  "test/console/server/cli.test.ts",
  "test/console/server/downloads.test.ts",
  "test/console/server/foreign.test.ts",
  "test/console/server/keys.test.ts",
  "test/console/server/operator.test.ts",
  "test/console/server/registration.test.ts",
  "test/console/server/sessions.test.ts",
  "test/console/server/tickets.test.ts",
  "test/cooperative/openssh.test.ts",
  "test/files/archiveCalls.test.ts",
  "test/files/contract.agent.test.ts",
  "test/files/contract.namespace.test.ts",
  "test/files/contract.qemu.test.ts",
  "test/files/lostGuest.test.ts",
  "test/http/audited.test.ts",
  "test/http/credit.test.ts",
  "test/http/cursors.test.ts",
  "test/http/edge.test.ts",
  "test/http/events.test.ts",
  "test/http/faults.test.ts",
  "test/http/fuzz.test.ts",
  "test/http/history.test.ts",
  "test/http/largeBodies.test.ts",
  "test/http/logStream.test.ts",
  "test/http/lostAnswers.test.ts",
  "test/http/machines.test.ts",
  "test/http/metrics.test.ts",
  "test/http/openapi.test.ts",
  "test/http/openapiExamples.test.ts",
  "test/http/operations.test.ts",
  "test/http/outage.test.ts",
  "test/http/outputStream.test.ts",
  "test/http/pages.test.ts",
  "test/http/prepaid.test.ts",
  "test/http/proxies.test.ts",
  "test/http/requestLog.test.ts",
  "test/http/runningWait.test.ts",
  "test/http/sandboxChanges.test.ts",
  "test/http/sandboxes.test.ts",
  "test/http/streamEnds.test.ts",
  "test/http/tls.test.ts",
  "test/http/traces.test.ts",
  "test/http/usage.test.ts",
  "test/http/watching.test.ts",
  "test/http/ways.test.ts",
  "test/http/workspaces.test.ts",
  "test/mcp/mcp.test.ts",
  "test/operation/outOfMemory.test.ts",
  "test/preview/echo.test.ts",
  "test/preview/vite.test.ts",
  "test/serviceAccess/programs.test.ts",
  "test/terminal/namespace.test.ts",
  "test/terminal/qemu.test.ts",
  "test/terminal/terminal.test.ts",
  "test/wallet/metrics.test.ts"
]

/** Of those suites: single tests that only one process with simulated machines can pass, by their names; the reason. */
export const inProcessOnly: Readonly<Record<string, string>> = {
  "boots that run, wait for their turn and are refused are counted": "holds up and refuses boots in its process",
  "sees that there is no host but this one where the service does all": "asks a service that has no hosts",
  "of an agent that was taken over is refused or closed": "puts a hostile agent in the place of one of its process"
}

/** By suite: the reason. */
export const inProcess: Readonly<Record<string, string>> = {
  "test/clients/engines/engines.test.ts":
    "tries the engines of the TypeScript library; its suites are run over a fleet",
  "test/clients/python/versions.test.ts": "tries versions of Python; the library's suites are run over a fleet",
  "test/http/hostFailures.test.ts": "makes simulated machines fail in its process",
  "test/http/hostileText.test.ts":
    "bodies of a mebibyte that are answered before they end, and whose connection the service closes",
  "test/http/largeAnswers.test.ts": "counts the answers that one process holds in its memory",
  "test/host/namespace/besideAttacks.test.ts": "looks at the driver itself, what one tenant leaves on its machine",
  "test/preview/gateway.test.ts":
    "the gateway alone: simulated programs that break off, hang or do not read, whose tunnels it counts",
  "test/preview/hostile.test.ts": "simulated programs, which answer byte for byte what it says",
  "test/preview/smuggling.test.ts": "simulated programs, which are given byte for byte what comes to them",
  "test/preview/ways.test.ts":
    "crashes simulated machines between any two steps, and counts in the service what is open",
  "test/serviceAccess/tunnel.test.ts":
    "the gateway alone: simulated programs that hold or break off, whose connections it counts",
  "test/wallet/openWays.test.ts": "puts simulated machines to sleep, and counts in the service what is open"
}
