/** Each operation in Python, by operationId: by the library's own methods, and by `client.api` where it has none. `client` is a client. */
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

export const pythonStart = `import atoll

client = atoll.Atoll()  # reads ATOLL_URL and ATOLL_API_KEY
`

const inSandbox = (lines: string): string => `sandbox = client.sandboxes.get("${sandboxId}")\n${lines}`

const ofOperation = (lines: string): string => inSandbox(`operation = sandbox.operation("${operationId}")\n${lines}`)

export const pythonSamples: Readonly<Record<string, string>> = {
  getOpenApi: `description = client.api.get_open_api()`,
  listMachines: `machines = client.api.list_machines().machines`,
  getMe: `me = client.me()
print(me.account.name, me.limits.sandboxes)`,
  revokeKey: `client.api.revoke_key()`,

  listWorkspaces: `workspaces = client.workspaces.list()`,
  createWorkspace: `workspace = client.workspaces.create("analysis")`,
  getWorkspace: `workspace = client.api.get_workspace("${workspaceId}").workspace`,
  renameWorkspace: `workspace = client.workspaces.rename("${workspaceId}", "analysis, second try")`,
  deleteWorkspace: `client.workspaces.delete("${workspaceId}")`,

  listSandboxes: `for sandbox in client.sandboxes.list(status=["running"], metadata={"team": "blue"}):
    print(sandbox.id, sandbox.status)`,
  createSandbox: `# Waits until it runs. The end of the block deletes it.
with client.sandboxes.create(
    name="analysis",
    metadata={"team": "blue"},
    env={"API_TOKEN": "a secret"},
    lifetime=atoll.Lifetime(stop_after_idle_seconds=1800, delete_after_stopped_seconds=86400),
    checkpoints=atoll.Checkpoints(every_seconds=3600, on_stop=True),
) as sandbox:
    print(sandbox.id)`,
  getSandbox: `sandbox = client.sandboxes.get("${sandboxId}")
print(sandbox.record.name, sandbox.status)`,
  updateSandbox: inSandbox(`sandbox.update(
    metadata={"team": "green", "draft": None},  # None removes
    env={"API_TOKEN": "another secret"},
    lifetime=atoll.Lifetime(stop_after_idle_seconds=3600),
)`),
  deleteSandbox: inSandbox(`sandbox.delete()`),
  startSandbox: inSandbox(`sandbox.boot()  # waits until it runs`),
  stopSandbox: inSandbox(`sandbox.stop()  # waits until it has stopped`),
  listSandboxTransitions: inSandbox(`for transition in sandbox.transitions():
    print(transition.at, transition.from_, transition.to)`),
  listSandboxHistory: `page = client.api.list_sandbox_history("${sandboxId}", limit=100)
print(len(page.transitions), page.next_cursor)`,

  createSnapshot: `import uuid

answer = client.api.create_snapshot(
    "${sandboxId}",
    idempotency_key=str(uuid.uuid4()),
    name="before the migration",
)
print(answer.snapshot.id, answer.snapshot.status)`,
  listSnapshots: `page = client.api.list_snapshots(sandbox_id="${sandboxId}", limit=100)
print(len(page.snapshots), page.next_cursor)`,
  getSnapshot: `snapshot = client.api.get_snapshot("${snapshotId}").snapshot
print(snapshot.status, snapshot.stored_bytes)`,
  pullImage: `import uuid

image = client.api.pull_image(
    reference="registry.example.com/team/tools:1.4",
    idempotency_key=str(uuid.uuid4()),
    name="tools",
).image
print(image.id, image.status)`,
  uploadImage: `image = client.images.upload("./image.tar", name="tools")
print(image.id, image.status)`,
  buildImage: `import uuid

with open("./src.tar", "rb") as context:
    image = client.api.build_image(content=context.read(), name="tools", idempotency_key=str(uuid.uuid4())).image
print(image.id, image.status)`,
  readBuildOutput: `piece = client.api.read_build_output("${imageId}", stream="stdout", offset=0)
print(piece.data, piece.next_offset, piece.eof)  # data is base64`,
  streamBuildOutput: `answer = client.api.stream_build_output("${imageId}")
try:
    for line in answer.iter_lines():
        print(line)
finally:
    answer.close()`,
  listImages: `page = client.api.list_images(status=["ready"], limit=100)
print(len(page.images), page.next_cursor)`,
  getImage: `image = client.api.get_image("${imageId}").image
print(image.status, image.digest)`,
  deleteImage: `client.api.delete_image("${imageId}")`,
  listImageTransitions: `page = client.api.list_image_transitions("${imageId}", limit=100)
print(len(page.transitions), page.next_cursor)`,
  updateSnapshot: `snapshot = client.api.update_snapshot("${snapshotId}", name="the last good one").snapshot`,
  deleteSnapshot: `client.api.delete_snapshot("${snapshotId}")`,
  exportSnapshot: `client.snapshots.get("${snapshotId}").export("./before.atoll")`,
  importSnapshot: `snapshot = client.snapshots.import_("./before.atoll", workspace_id="${workspaceId}")
print(snapshot.id, snapshot.status)`,
  listSnapshotTransitions: `page = client.api.list_snapshot_transitions("${snapshotId}", limit=100)
print(len(page.transitions), page.next_cursor)`,
  forkSandbox: `import uuid

forked = client.api.fork_sandbox(
    "${sandboxId}",
    idempotency_key=str(uuid.uuid4()),
    count=2,
    names=["first try", "second try"],
)
print(forked.snapshot.id, len(forked.sandboxes), len(forked.refused))`,
  rollbackSandbox: inSandbox(`kept = sandbox.rollback("${snapshotId}")  # waits until it runs again
print(sandbox.status, kept.id if kept else None)`),
  readSandboxLineage: `lineage = client.api.read_sandbox_lineage("${sandboxId}")
print(len(lineage.parents), len(lineage.children))`,

  execute: `# sandbox.run is the same for commands of any length.
answer = client.api.execute(
    "${sandboxId}",
    argv=["python3", "-c", "print(6 * 7)"],
    cwd="/workspace",
    timeout_seconds=10,
)
print(answer.result.exit_code, answer.result.stdout)`,
  startOperation: inSandbox(`operation = sandbox.start(["python3", "-c", "print(6 * 7)"], cwd="/workspace")
print(operation.wait().exit_code)`),
  listOperations: inSandbox(`for operation in sandbox.operations():
    print(operation.id, operation.record.status)`),
  getOperation: ofOperation(`print(operation.record.status, operation.record.exit_code)`),
  readOperationOutput: ofOperation(`piece = operation.read("stdout", 0)
print(piece.data, piece.next_offset, piece.eof)  # data is base64`),
  streamOperationOutput: ofOperation(`for chunk in operation.output():
    print(chunk.stream, chunk.data)`),
  waitOperation: ofOperation(`record = operation.wait(within_seconds=30)
print(record.status, record.exit_code)`),
  cancelOperation: ofOperation(`operation.cancel()`),
  listOperationTransitions: ofOperation(`for transition in operation.transitions():
    print(transition.at, transition.from_, transition.to)`),
  listDeclinedEvents: `declined = client.api.list_declined_events(
    "${sandboxId}", "${operationId}"
).declined`,
  listProcesses: inSandbox(`for process in sandbox.processes():
    print(process.pid, process.argv)`),
  endProcess: `client.api.end_process("${sandboxId}", "${processId}")`,
  openTerminal: inSandbox(`with sandbox.terminal(columns=120, rows=40) as terminal:
    terminal.write("exit\\n")
    for shown in terminal.output():
        print(shown.decode("utf-8", "replace"), end="")`),

  statFile: inSandbox(`entry = sandbox.files.stat("main.py")
print(entry.type, entry.size_bytes, entry.modified_at)`),
  readFile: inSandbox(`text = sandbox.files.read("main.py")  # or read_bytes`),
  writeFile: inSandbox(`sandbox.files.write("main.py", "print(6 * 7)\\n")`),
  editFile: inSandbox(`sandbox.files.edit("main.py", old_text="6 * 7", new_text="6 * 9")`),
  listFiles: inSandbox(`for entry in sandbox.files.list("src"):
    print(entry.name, entry.type, entry.size_bytes)`),
  createDirectory: inSandbox(`sandbox.files.mkdir("src/lib", recursive=True)`),
  renameFile: inSandbox(`sandbox.files.rename("main.py", "src/main.py")`),
  removeFile: inSandbox(`sandbox.files.remove("src", recursive=True)`),
  uploadArchive: inSandbox(`unpacked = sandbox.files.upload("./src", "src")
print(unpacked.entries, unpacked.bytes)`),
  downloadArchive: inSandbox(`downloaded = sandbox.files.download("src", "./src")
print(downloaded.left_out)`),

  readLogs: inSandbox(`for entry in sandbox.logs(limit=100):
    print(entry.at, entry.stream, entry.text)`),
  streamLogs: `# A stream of server-sent events.
answer = client.api.stream_logs("${sandboxId}")
try:
    for line in answer.iter_lines():
        print(line)
finally:
    answer.close()`,
  readAnalytics: `analytics = client.api.read_analytics("${sandboxId}").analytics`,

  createPreview: inSandbox(`with sandbox.previews.open(3000) as preview:  # waits until a program listens there
    print(preview.url)`),
  lookUpPreview: inSandbox(`preview = sandbox.previews.get(3000)
print(preview.url)`),
  listPreviews: inSandbox(`previews = sandbox.previews.list()`),
  closePreviews: inSandbox(`sandbox.previews.close()`),
  closePreview: `client.api.close_preview("${sandboxId}", "${previewId}")`,

  createServiceAccess: `# sandbox.tunnel and sandbox.forward do this, and connect.
import datetime
import uuid

envelope = client.api.create_service_access(
    "${sandboxId}",
    idempotency_key=str(uuid.uuid4()),
    requested_at=datetime.datetime.now(datetime.timezone.utc).isoformat(),
    ports=[5432, 6379],
)
print(envelope.capability)`,
  lookUpServiceAccess: `envelope = client.api.look_up_service_access(
    "${sandboxId}",
    idempotency_key="${generationId}",
    requested_at="2026-01-31T12:00:00.000Z",
    ports=[5432, 6379],
)
print(envelope.capability)`,
  revokeServiceAccess: `client.api.revoke_service_access("${sandboxId}", "${generationId}")`,
  openTunnel: inSandbox(`with sandbox.tunnel(5432) as tunnel:  # or sandbox.forward(5432): a port of this machine
    tunnel.write(b"...")
    print(tunnel.read())`),

  grantConnection: `connection = client.api.grant_connection(
    "${sandboxId}",
    public_keys=["${publicKey}"],
)
print(connection.host, connection.port, connection.username)`,
  regrantConnection: `connection = client.api.regrant_connection(
    "${sandboxId}",
    "${endpointId}",
    public_keys=["${publicKey}"],
)
print(connection.host, connection.port, connection.username)`,
  revokeConnection: `client.api.revoke_connection("${sandboxId}", "${endpointId}")`,

  readUsage: `usage = client.usage.read()
print(usage.sandbox_seconds, usage.cpu_seconds)`,
  readBalance: `balance = client.usage.balance()
print(balance.micro_usd, balance.exhausts_at)`,
  listTransactions: `for transaction in client.usage.transactions():
    print(transaction.at, transaction.kind, transaction.micro_usd)`,
  readCosts: `report = client.usage.costs(group_by="day")
print(report.total_micro_usd)`,
  listAuditEvents: `page = client.api.list_audit_events(sandbox_id="${sandboxId}", limit=100)
print(len(page.events), page.next_cursor)`,

  streamSandboxEvents: inSandbox(`for event in sandbox.events():
    print(event.kind, event.from_, event.to)`),
  streamEvents: `for event in client.events():
    print(event.sandbox_id, event.kind, event.to)`
}
