/** Each operation in TypeScript, by operationId: by the library's own methods, and by `atoll.api.call` where it has none. `atoll` is a client. */
import {
  endpointId,
  generationId,
  imageId,
  operationId,
  previewId,
  processId,
  publicKey,
  sandboxId,
  snapshotId,
  workspaceId
} from "./ids.ts"

export const typescriptStart = `import { Atoll } from "@atoll/client"

const atoll = new Atoll() // reads ATOLL_URL and ATOLL_API_KEY
`

const inSandbox = (lines: string): string => `const sandbox = await atoll.sandboxes.get("${sandboxId}")\n${lines}`

const ofOperation = (lines: string): string =>
  inSandbox(`const operation = await sandbox.operation("${operationId}")\n${lines}`)

/** Without a method. */
const call = (id: string, fields = ""): string =>
  fields === ""
    ? `await atoll.api.call("${id}")`
    : `await atoll.api.call("${id}", {\n${fields.replace(/^/gm, "  ")}\n})`

export const typescriptSamples: Readonly<Record<string, string>> = {
  getOpenApi: `const description = ${call("getOpenApi")}`,
  listMachines: `const { machines } = ${call("listMachines")}`,
  getMe: `const { account, apiKey, limits } = await atoll.me()`,
  revokeKey: call("revokeKey"),

  listWorkspaces: `const workspaces = await atoll.workspaces.list()`,
  createWorkspace: `const workspace = await atoll.workspaces.create("analysis")`,
  getWorkspace: `const { workspace } = ${call("getWorkspace", `parameters: { id: "${workspaceId}" }`)}`,
  renameWorkspace: `const workspace = await atoll.workspaces.rename("${workspaceId}", "analysis, second try")`,
  deleteWorkspace: `await atoll.workspaces.delete("${workspaceId}")`,

  listSandboxes: `for await (const sandbox of atoll.sandboxes.list({ status: ["running"], metadata: { team: "blue" } })) {
  console.log(sandbox.id, sandbox.status)
}`,
  createSandbox: `// Waits until it runs. \`await using\` deletes it at the end of the block.
await using sandbox = await atoll.sandboxes.create({
  name: "analysis",
  metadata: { team: "blue" },
  env: { API_TOKEN: "a secret" },
  lifetime: {
    stopAfterIdleSeconds: 1800,
    deleteAfterStoppedSeconds: 86400
  },
  checkpoints: { everySeconds: 3600, onStop: true }
})`,
  getSandbox: `const sandbox = await atoll.sandboxes.get("${sandboxId}")
console.log(sandbox.record.name, sandbox.status)`,
  updateSandbox: inSandbox(`await sandbox.update({
  metadata: { team: "green", draft: null }, // null removes
  env: { API_TOKEN: "another secret" },
  lifetime: { stopAfterIdleSeconds: 3600 }
})`),
  deleteSandbox: inSandbox(`await sandbox.delete()`),
  startSandbox: inSandbox(`await sandbox.boot() // waits until it runs`),
  stopSandbox: inSandbox(`await sandbox.stop() // waits until it has stopped`),
  listSandboxTransitions: inSandbox(`for await (const { at, from, to } of sandbox.transitions()) {
  console.log(at, from, to)
}`),
  listSandboxHistory: `const { transitions, nextCursor } = ${call("listSandboxHistory", `parameters: { id: "${sandboxId}", limit: 100 }`)}`,

  createSnapshot: `const { snapshot } = ${call("createSnapshot", `parameters: { id: "${sandboxId}", "Idempotency-Key": crypto.randomUUID() },\nbody: { name: "before the migration" }`)}
console.log(snapshot.id, snapshot.status)`,
  listSnapshots: `const { snapshots, nextCursor } = ${call("listSnapshots", `parameters: { sandboxId: "${sandboxId}", limit: 100 }`)}`,
  getSnapshot: `const { snapshot } = ${call("getSnapshot", `parameters: { id: "${snapshotId}" }`)}
console.log(snapshot.status, snapshot.storedBytes)`,
  pullImage: `const { image } = ${call("pullImage", `parameters: { "Idempotency-Key": crypto.randomUUID() },\nbody: { name: "tools", reference: "registry.example.com/team/tools:1.4" }`)}
console.log(image.id, image.status)`,
  uploadImage: `const uploaded = await atoll.images.upload("./image.tar", { name: "tools" })
console.log(uploaded.id, uploaded.status)`,
  buildImage: `const built = await atoll.images.build({ context: "./app", name: "tools" })
console.log(built.id, built.status)`,
  readBuildOutput: `const { data, nextOffset, eof } = ${call("readBuildOutput", `parameters: { id: "${imageId}", stream: "stdout", offset: 0 }`)}
console.log(data, nextOffset, eof) // data is base64`,
  streamBuildOutput: `const image = await atoll.images.get("${imageId}")
for await (const { stream, bytes } of image.buildOutput()) {
  console.log(stream, new TextDecoder().decode(bytes))
}`,
  listImages: `const { images, nextCursor } = ${call("listImages", `parameters: { status: ["ready"], limit: 100 }`)}`,
  getImage: `const { image } = ${call("getImage", `parameters: { id: "${imageId}" }`)}
console.log(image.status, image.digest)`,
  deleteImage: call("deleteImage", `parameters: { id: "${imageId}" }`),
  listImageTransitions: `const { transitions, nextCursor } = ${call("listImageTransitions", `parameters: { id: "${imageId}", limit: 100 }`)}`,
  updateSnapshot: `const { snapshot } = ${call("updateSnapshot", `parameters: { id: "${snapshotId}" },\nbody: { name: "the last good one", expiresAt: null }`)}`,
  deleteSnapshot: call("deleteSnapshot", `parameters: { id: "${snapshotId}" }`),
  listSnapshotTransitions: `const { transitions, nextCursor } = ${call("listSnapshotTransitions", `parameters: { id: "${snapshotId}", limit: 100 }`)}`,
  exportSnapshot: `const snapshot = await atoll.snapshots.get("${snapshotId}")
await snapshot.export("./before.atoll")`,
  importSnapshot: `const imported = await atoll.snapshots.import("./before.atoll", { workspaceId: "${workspaceId}" })
console.log(imported.id, imported.status)`,
  forkSandbox: `const { snapshot, sandboxes, refused } = ${call("forkSandbox", `parameters: { id: "${sandboxId}", "Idempotency-Key": crypto.randomUUID() },\nbody: { count: 2, names: ["first try", "second try"] }`)}`,
  rollbackSandbox: inSandbox(`const kept = await sandbox.rollback("${snapshotId}") // waits until it runs again
console.log(sandbox.status, kept?.id)`),
  readSandboxLineage: `const { parents, children } = ${call("readSandboxLineage", `parameters: { id: "${sandboxId}" }`)}`,

  execute: `// \`sandbox.run\` is the same for commands of any length.
const { result } = ${call(
    "execute",
    `parameters: { id: "${sandboxId}" },
body: { argv: ["python3", "-c", "print(6 * 7)"], cwd: "/workspace", timeoutSeconds: 10 }`
  )}
console.log(result.exitCode, result.stdout)`,
  startOperation:
    inSandbox(`const operation = await sandbox.start(["python3", "-c", "print(6 * 7)"], { cwd: "/workspace" })
const { exitCode } = await operation.wait()`),
  listOperations: inSandbox(`for await (const operation of sandbox.operations()) {
  console.log(operation.id, operation.record.status)
}`),
  getOperation: ofOperation(`console.log(operation.record.status, operation.record.exitCode)`),
  readOperationOutput: ofOperation(
    `const { data, nextOffset, eof } = await operation.read("stdout", 0) // data is base64`
  ),
  streamOperationOutput: ofOperation(`for await (const { stream, bytes } of operation.output()) {
  console.log(stream, new TextDecoder().decode(bytes))
}`),
  waitOperation: ofOperation(`const { status, exitCode } = await operation.wait({ withinSeconds: 30 })`),
  cancelOperation: ofOperation(`await operation.cancel()`),
  listOperationTransitions: ofOperation(`for await (const { at, from, to } of operation.transitions()) {
  console.log(at, from, to)
}`),
  listDeclinedEvents: `const { declined } = ${call("listDeclinedEvents", `parameters: { id: "${sandboxId}", operationId: "${operationId}" }`)}`,
  listProcesses: inSandbox(`for (const { pid, argv } of await sandbox.processes()) console.log(pid, argv)`),
  endProcess: call("endProcess", `parameters: { id: "${sandboxId}", processId: "${processId}" }`),
  openTerminal: inSandbox(`const terminal = await sandbox.terminal({ columns: 120, rows: 40 })
await terminal.write("exit\\n")
for await (const bytes of terminal.output()) console.log(new TextDecoder().decode(bytes))
console.log((await terminal.exited)?.exitCode)`),

  statFile: inSandbox(`const { type, sizeBytes, modifiedAt } = await sandbox.files.stat("main.py")`),
  readFile: inSandbox(`const text = await sandbox.files.read("main.py") // or readBytes, readStream`),
  writeFile: inSandbox(`await sandbox.files.write("main.py", "print(6 * 7)\\n")`),
  editFile: inSandbox(`await sandbox.files.edit("main.py", { oldText: "6 * 7", newText: "6 * 9" })`),
  listFiles: inSandbox(`for await (const { name, type, sizeBytes } of sandbox.files.list("src")) {
  console.log(name, type, sizeBytes)
}`),
  createDirectory: inSandbox(`await sandbox.files.mkdir("src/lib", { recursive: true })`),
  renameFile: inSandbox(`await sandbox.files.rename("main.py", "src/main.py")`),
  removeFile: inSandbox(`await sandbox.files.remove("src", { recursive: true })`),
  uploadArchive: inSandbox(`const { entries, bytes } = await sandbox.files.uploadDirectory("./src", "src")`),
  downloadArchive: inSandbox(`const { leftOut } = await sandbox.files.downloadDirectory("src", "./src")`),

  readLogs: inSandbox(
    `for (const { at, stream, text } of await sandbox.logs({ limit: 100 })) console.log(at, stream, text)`
  ),
  streamLogs: `// A stream of server-sent events.
const events = ${call("streamLogs", `parameters: { id: "${sandboxId}" }`)}
for await (const bytes of events) console.log(new TextDecoder().decode(bytes))`,
  readAnalytics: `const { analytics } = ${call("readAnalytics", `parameters: { id: "${sandboxId}" }`)}`,

  createPreview:
    inSandbox(`await using preview = await sandbox.previews.open(3000) // waits until a program listens there
console.log(preview.url)`),
  lookUpPreview: inSandbox(`const preview = await sandbox.previews.get(3000)
console.log(preview.url)`),
  listPreviews: inSandbox(`const previews = await sandbox.previews.list()`),
  closePreviews: inSandbox(`await sandbox.previews.close()`),
  closePreview: call("closePreview", `parameters: { id: "${sandboxId}", previewId: "${previewId}" }`),

  createServiceAccess: `// \`sandbox.tunnel\` and \`sandbox.forward\` do this, and connect.
const { capability } = ${call(
    "createServiceAccess",
    `parameters: { id: "${sandboxId}", "Idempotency-Key": crypto.randomUUID() },
body: { requested_at: new Date().toISOString(), ports: [5432, 6379] }`
  )}`,
  lookUpServiceAccess: `const { capability } = ${call(
    "lookUpServiceAccess",
    `parameters: { id: "${sandboxId}", "Idempotency-Key": "${generationId}" },
body: { requested_at: "2026-01-31T12:00:00.000Z", ports: [5432, 6379] }`
  )}`,
  revokeServiceAccess: call(
    "revokeServiceAccess",
    `parameters: { id: "${sandboxId}", generationId: "${generationId}" }`
  ),
  openTunnel: inSandbox(`const socket = await sandbox.tunnel(5432) // a Duplex of Node
await using forward = await sandbox.forward(5432) // or a port of this machine`),

  grantConnection: `const { host, port, username } = ${call(
    "grantConnection",
    `parameters: { id: "${sandboxId}" },
body: { publicKeys: ["${publicKey}"] }`
  )}`,
  regrantConnection: `const { host, port, username } = ${call(
    "regrantConnection",
    `parameters: { id: "${sandboxId}", endpointId: "${endpointId}" },
body: { publicKeys: ["${publicKey}"] }`
  )}`,
  revokeConnection: call("revokeConnection", `parameters: { id: "${sandboxId}", endpointId: "${endpointId}" }`),

  readUsage: `const { sandboxSeconds, cpuSeconds } = await atoll.usage.read()`,
  readBalance: `const { microUsd, exhaustsAt } = await atoll.usage.balance()`,
  listTransactions: `for await (const { at, kind, microUsd } of atoll.usage.transactions()) console.log(at, kind, microUsd)`,
  readCosts: `const { costs, totalMicroUsd } = await atoll.usage.costs({ groupBy: "day" })`,
  listAuditEvents: `const { events, nextCursor } = ${call("listAuditEvents", `parameters: { sandboxId: "${sandboxId}", limit: 100 }`)}`,

  streamSandboxEvents: inSandbox(
    `for await (const { kind, from, to } of sandbox.events()) console.log(kind, from, to)`
  ),
  streamEvents: `for await (const { sandboxId, kind, to } of atoll.events()) console.log(sandboxId, kind, to)`
}
