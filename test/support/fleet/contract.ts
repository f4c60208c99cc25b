/**
 * The suites of the HTTP contract: every one that serves the API, or has a gateway. Each also runs over a fleet of two
 * services and two hosts (`npm run test:fleet`), or is listed with a reason.
 */

export const overAFleet: ReadonlyArray<string> = [
  "test/service/account/audit.test.ts",
  "test/service/account/keys.test.ts",
  "test/service/account/limits.test.ts",
  "test/service/account/suspension.test.ts",
  "test/system/clients/cli/cli.test.ts",
  "test/system/clients/examples.test.ts",
  "test/system/clients/gigabyte.test.ts",
  "test/system/clients/cli/login.test.ts",
  "test/system/clients/python/library.test.ts",
  "test/system/clients/typescript/connections.test.ts",
  "test/system/clients/typescript/directories.test.ts",
  "test/service/clients/cli/documentation.test.ts",
  "test/service/clients/typescript/files.test.ts",
  "test/service/clients/typescript/library.test.ts",
  "test/system/console/pages/account.test.ts",
  "test/system/console/pages/attacks.test.ts",
  "test/system/console/pages/commands.test.ts",
  "test/system/console/pages/console.test.ts",
  "test/system/console/pages/create.test.ts",
  "test/service/console/pages/files.test.ts",
  "test/system/console/pages/machines.test.ts",
  "test/system/console/pages/operating.test.ts",
  "test/system/console/pages/parts.test.ts",
  "test/system/console/pages/sandbox/line.test.ts",
  "test/system/console/pages/sandbox/real.test.ts",
  "test/system/console/pages/sandbox/sizeFields.test.ts",
  "test/system/console/pages/timeline.test.ts",
  "test/system/console/pages/viewer.test.ts",
  "test/system/console/pages/whole.test.ts",
  "test/system/console/pages/windows.test.ts",
  "test/service/console/pages/page.test.ts",
  "test/service/console/server/bruteForce.test.ts",
  "test/service/console/server/cli.test.ts",
  "test/system/console/server/downloads.test.ts",
  "test/service/console/server/foreign.test.ts",
  "test/service/console/server/keys.test.ts",
  "test/service/console/server/operating.test.ts",
  "test/service/console/server/operator.test.ts",
  "test/service/console/server/operatorAudit.test.ts",
  "test/service/console/server/operatorKeys.test.ts",
  "test/service/console/server/registration.test.ts",
  "test/service/console/server/sessions.test.ts",
  "test/service/console/server/tickets.test.ts",
  "test/system/access/ssh/openssh.test.ts",
  "test/system/files/archiveCalls.test.ts",
  "test/service/files/contract.agent.test.ts",
  "test/system/files/contract.namespace.test.ts",
  "test/system/files/contract.qemu.test.ts",
  "test/service/files/lostGuest.test.ts",
  "test/service/api/http/audited.test.ts",
  "test/service/api/http/credit.test.ts",
  "test/system/api/http/cursors.test.ts",
  "test/service/api/http/edge.test.ts",
  "test/service/api/http/events.test.ts",
  "test/service/api/http/faults.test.ts",
  "test/service/api/http/fuzz.test.ts",
  "test/service/api/http/history.test.ts",
  "test/service/api/http/largeBodies.test.ts",
  "test/service/api/http/logStream.test.ts",
  "test/system/api/http/lostAnswers.test.ts",
  "test/service/api/http/machines.test.ts",
  "test/service/api/http/metrics.test.ts",
  "test/service/api/http/openapi.test.ts",
  "test/service/api/http/openapiExamples.test.ts",
  "test/service/api/http/operations.test.ts",
  "test/system/api/http/outage.test.ts",
  "test/service/api/http/outputStream.test.ts",
  "test/system/api/http/pages.test.ts",
  "test/service/api/http/prepaid.test.ts",
  "test/service/api/http/proxies.test.ts",
  "test/service/api/http/refusals.test.ts",
  "test/service/api/http/requestLog.test.ts",
  "test/service/api/http/runningWait.test.ts",
  "test/service/api/http/sandboxChanges.test.ts",
  "test/service/api/http/sandboxes.test.ts",
  "test/service/api/http/streamEnds.test.ts",
  "test/service/api/http/tls.test.ts",
  "test/service/api/http/traces.test.ts",
  "test/service/api/http/usage.test.ts",
  "test/service/api/http/watching.test.ts",
  "test/service/api/http/ways.test.ts",
  "test/service/api/http/workspaces.test.ts",
  "test/service/api/mcp/mcp.test.ts",
  "test/service/api/reference/page.test.ts",
  "test/service/operation/outOfMemory.test.ts",
  "test/service/operation/workingDirectory.test.ts",
  "test/system/access/preview/echo.test.ts",
  "test/system/access/preview/vite.test.ts",
  "test/system/access/serviceAccess/programs.test.ts",
  "test/system/operation/terminal/namespace.test.ts",
  "test/system/operation/terminal/qemu.test.ts",
  "test/service/operation/terminal/terminal.test.ts",
  "test/service/wallet/metrics.test.ts"
]

/** Of those suites: single tests that only one process with simulated machines can pass, by their names; the reason. */
export const inProcessOnly: Readonly<Record<string, string>> = {
  "count boots that run, wait in the queue or are refused": "holds up and refuses boots in its process",
  "sees that there is no host but this one where the service does all": "asks a service that has no hosts",
  "of an agent that was taken over is refused or closed": "puts a hostile agent in the place of one of its process"
}

/** By suite: the reason. */
export const inProcess: Readonly<Record<string, string>> = {
  "test/system/clients/engines/engines.test.ts":
    "tries the engines of the TypeScript library; its suites are run over a fleet",
  "test/system/clients/python/versions.test.ts": "tries versions of Python; the library's suites are run over a fleet",
  "test/service/api/http/hostFailures.test.ts": "makes simulated machines fail in its process",
  "test/service/api/reference/samples.test.ts":
    "compiles samples, and sends requests whose ids name nothing; page.test.ts is run over a fleet",
  "test/system/api/reference/browser.test.ts":
    "looks at a page that is the same bytes; page.test.ts is run over a fleet",
  "test/system/api/http/hostileText.test.ts":
    "bodies of a mebibyte that are answered before they end, and whose connection the service closes",
  "test/system/api/http/largeAnswers.test.ts": "counts the answers that one process holds in its memory",
  "test/system/api/http/unreadExecutes.test.ts": "counts the answers that one process holds in its memory",
  "test/system/console/pages/away.test.ts": "stops the one service that a page has",
  "test/service/clients/typescript/previews.test.ts":
    "previews of simulated programs, with a TLS server in the test; library.test.ts is run over a fleet",
  "test/system/host/namespace/besideAttacks.test.ts":
    "looks at the driver itself, what one tenant leaves on its machine",
  "test/service/access/preview/gateway.test.ts":
    "the gateway alone: simulated programs that break off, hang or do not read, whose tunnels it counts",
  "test/service/access/serviceAccess/tunnelRefusal.test.ts": "simulated programs, and a service without TCP access",
  "test/service/access/preview/hostile.test.ts": "simulated programs, which answer byte for byte what it says",
  "test/service/access/preview/exchanges.test.ts":
    "the gateway alone: simulated programs, whose connections it counts and cuts",
  "test/service/access/preview/smuggling.test.ts": "simulated programs, which get the clients' bytes one for one",
  "test/service/access/preview/alongside.test.ts": "moves the service's clock, and crashes simulated machines",
  "test/system/access/preview/alongside.test.ts": "moves the service's clock, and crashes simulated machines",
  "test/service/access/preview/ways.test.ts":
    "crashes simulated machines between any two steps, and counts in the service what is open",
  "test/service/access/serviceAccess/tunnel.test.ts":
    "the gateway alone: simulated programs that hold or break off, whose connections it counts",
  "test/service/image/images.test.ts":
    "pulls simulated images, and looks at machines in its process; test/system/fleet/images.test.ts pulls one over a fleet",
  "test/service/image/uploads.test.ts":
    "uploads to a simulated host, and looks at it in its process; test/service/fleet/uploadsOnHosts.test.ts has its fleet",
  "test/service/image/builds.test.ts":
    "builds in simulated machines, and looks at them in its process; test/service/fleet/buildsOnHosts.test.ts has its fleet",
  "test/service/image/operatorImages.test.ts": "pulls simulated images, and starts the service with other settings",
  "test/service/image/operatorLogins.test.ts":
    "looks at what simulated machines get; test/system/fleet/images.test.ts pulls with such a login over a fleet",
  "test/service/image/imageCosts.test.ts": "pulls simulated images, and reads the books in its process",
  "test/service/clients/cli/images.test.ts": "pulls simulated images",
  "test/system/console/pages/images.test.ts": "pulls simulated images",
  "test/service/api/mcp/imageTools.test.ts": "builds in simulated machines",
  "test/service/clients/typescript/images.test.ts": "builds in simulated machines",
  "test/system/clients/python/images.test.ts": "builds in simulated machines",
  "test/service/snapshot/captures.test.ts": "holds up and fails simulated captures in its process",
  "test/service/snapshot/forks.test.ts": "holds up and fails simulated captures in its process",
  "test/service/snapshot/forkRevision.test.ts": "reads the simulated volumes of its process",
  "test/service/snapshot/rollbacks.test.ts": "holds up and fails simulated captures and rollbacks in its process",
  "test/service/snapshot/snapshotLimits.test.ts": "counts the bytes of simulated images",
  "test/service/clients/cli/snapshots.test.ts":
    "simulated images of a small limit; examples.test.ts is run over a fleet",
  "test/service/clients/typescript/snapshots.test.ts":
    "simulated images of a small limit; examples.test.ts is run over a fleet",
  "test/system/clients/python/snapshots.test.ts":
    "simulated images of a small limit; examples.test.ts is run over a fleet",
  "test/service/api/mcp/snapshotTools.test.ts": "simulated images of a small limit",
  "test/system/console/pages/sandbox/snapshots.test.ts": "shows the bytes of simulated images",
  "test/service/snapshot/snapshotCosts.test.ts": "holds up simulated removals, and reads the books in its process",
  "test/service/api/http/sizes.test.ts": "holds up simulated boots, and reads the books in its process",
  "test/service/snapshot/snapshotFiles.test.ts": "looks at the content of simulated images",
  "test/service/snapshot/snapshots.test.ts": "looks at simulated images, and holds up simulated boots",
  "test/service/wallet/openWays.test.ts": "puts simulated machines to sleep, and counts in the service what is open"
}
