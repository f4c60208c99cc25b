/** What a client does in its first hour: the contract's main path, over the published port, in the usual order. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { Api } from "./Api.ts"
import { soon } from "./run.ts"

export interface Executed {
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
}

export const execute = async (api: Api, sandbox: string, script: string): Promise<Executed> => {
  const body = { argv: ["bash", "-c", script] }
  return (await api.expect(200, "POST", `/v2/sandboxes/${sandbox}/execute`, { body })).json.result
}

export const createSandbox = async (api: Api, workspaceId: string): Promise<string> => {
  const call = { body: { workspaceId }, headers: { "idempotency-key": randomUUID() } }
  const { sandbox } = (await api.expect(201, "POST", "/v2/sandboxes?wait=running", call)).json
  assert.equal(sandbox.status, "running", JSON.stringify(sandbox.statusReason))
  return sandbox.id
}

/** An operation that runs as long as its Sandbox; resolves once its first line can be read. */
export const startOperation = async (api: Api, sandbox: string, script: string): Promise<string> => {
  const operations = `/v2/sandboxes/${sandbox}/operations`
  const call = { body: { argv: ["bash", "-c", script] }, headers: { "idempotency-key": randomUUID() } }
  const { id } = (await api.expect(202, "POST", operations, call)).json.operation
  for (let offset = 0; offset === 0; ) {
    offset = (await api.expect(200, "GET", `${operations}/${id}/output?stream=stdout&offset=0`)).json.nextOffset
  }
  return id
}

/** @returns The workspace, and a running Sandbox in it that has a file `/workspace/kept.txt`. */
export const mainPath = async (api: Api): Promise<{ readonly workspace: string; readonly sandbox: string }> => {
  await api.expect(200, "GET", "/v2/openapi.json")
  await api.with({ key: "" }).expect(401, "GET", "/v2/me")
  await api.expect(200, "GET", "/v2/me")
  const named = { body: { name: "trial" }, headers: { "idempotency-key": "trial" } }
  const workspace = (await api.expect(201, "POST", "/v2/workspaces", named)).json.workspace.id
  const sandbox = await createSandbox(api, workspace)

  const files = `/v2/sandboxes/${sandbox}/files`
  await api.expect(204, "PUT", `${files}/content?path=/workspace/kept.txt`, { body: Buffer.from("kept\n") })
  assert.equal((await api.expect(200, "GET", `${files}/content?path=/workspace/kept.txt`)).text, "kept\n")
  const { entries } = (await api.expect(200, "GET", `${files}/list?path=/workspace`)).json
  assert.deepEqual(
    entries.map(({ name }: { name: string }) => name),
    ["kept.txt"]
  )
  assert.equal((await execute(api, sandbox, "cat kept.txt; id -un")).stdout, "kept\nsandbox\n")

  const operation = await startOperation(api, sandbox, "echo begun; sleep 1000")
  const cancelled = await api.expect(200, "POST", `/v2/sandboxes/${sandbox}/operations/${operation}/cancel`)
  assert.equal(cancelled.json.operation.status, "cancelled")
  await api.expect(200, "GET", `/v2/sandboxes/${sandbox}/logs?limit=100`)
  await api.expect(200, "GET", `/v2/sandboxes/${sandbox}/analytics`)

  // A repeated stop and start keep the volume.
  assert.equal((await api.expect(200, "POST", `/v2/sandboxes/${sandbox}/stop`)).json.sandbox.status, "stopped")
  await start(api, sandbox)
  return { workspace, sandbox }
}

/** Boots it, and reads its volume's files. */
export const start = async (api: Api, sandbox: string): Promise<void> => {
  const started = (await api.expect(201, "POST", `/v2/sandboxes/${sandbox}/start?wait=running`)).json.sandbox
  assert.equal(started.status, "running", JSON.stringify(started.statusReason))
  assert.equal((await execute(api, sandbox, "cat kept.txt")).stdout, "kept\n")
}

/** A server inside, seen at the address in the API's answer. */
export const preview = async (api: Api, sandbox: string, port: number): Promise<void> => {
  const serve = "echo begun; mkdir -p site; echo seen > site/index.html; cd site; exec python3 -m http.server 3000"
  await startOperation(api, sandbox, serve)
  const opened = await api.expect(201, "POST", `/v2/sandboxes/${sandbox}/previews`, { body: { port: 3000 } })
  const url = new URL(opened.json.preview.url)
  assert.equal(url.port, String(port), "the address of a preview names another port than the published one")
  // Not every resolver knows *.localhost.
  const visitor = new Api(`http://127.0.0.1:${port}`)
  await soon(async () => {
    const { text } = await visitor.expect(200, "GET", "/", { headers: { host: url.host } })
    assert.equal(text, "seen\n")
  }, 30_000)
  await api.expect(204, "DELETE", `/v2/sandboxes/${sandbox}/previews`)
}
