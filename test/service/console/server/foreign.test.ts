/** Another account's resources are not found: at every endpoint that takes an id, by session and by key. */
import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { HttpApi, type HttpApiEndpoint } from "effect/http-api"
import { scopes } from "../../../../schemas/Access.ts"
import { Api } from "../../../../schemas/Api.ts"
import { ConsoleApi } from "../../../../schemas/console/ConsoleApi.ts"
import { registered } from "../../../support/console/server/Browser.ts"
import { type Ask, TestApi } from "../../../support/http/TestApi.ts"

const endpoints: Array<HttpApiEndpoint.Top> = []
for (const api of [Api, ConsoleApi] as const) {
  HttpApi.reflect(api as typeof Api, { onGroup: () => {}, onEndpoint: ({ endpoint }) => void endpoints.push(endpoint) })
}

const generationId = randomUUID()
const access = { body: { requested_at: new Date().toISOString(), ports: [80] }, key: generationId }
const connection = {
  body: {
    publicKeys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFamwJMHwchcmLNm7FbRfD7l3ZUX+HUrv6CPjIFB6ckS test"]
  }
}
const file = { query: "?path=/workspace/a" }

interface Request {
  readonly query?: string
  readonly body?: unknown
  /** Of bytes. */
  readonly type?: string
  readonly key?: string
}

/** What a good request has beside its ids; for all others that is nothing. */
const requests: Readonly<Record<string, Request>> = {
  execute: { body: { argv: ["true"] } },
  startOperation: { body: { argv: ["true"] } },
  readOperationOutput: { query: "?stream=stdout&offset=0" },
  readBuildOutput: { query: "?stream=stdout&offset=0" },
  statFile: file,
  readFile: file,
  listFiles: file,
  removeFile: file,
  createDirectory: file,
  writeFile: { ...file, body: Buffer.from("owned") },
  editFile: { ...file, body: { expectedSha256: "0".repeat(64), oldText: "a", newText: "b" } },
  renameFile: { ...file, body: { destination: "/workspace/b" } },
  uploadArchive: { ...file, body: Buffer.from("owned"), type: "application/x-tar" },
  downloadArchive: file,
  createPreview: { body: { port: 80 } },
  rollbackSandbox: { body: { snapshotId: "snp_06a1b2c3d4e5f6g7h8j9kamnpq" } },
  lookUpPreview: { body: { port: 80 } },
  createServiceAccess: access,
  lookUpServiceAccess: access,
  grantConnection: connection,
  regrantConnection: connection,
  renameWorkspace: { body: { name: "owned" } },
  updateSandbox: { body: { name: "owned" } },
  updateSnapshot: { body: { name: "owned" } }
}

const askOf = ({ body, type = "application/octet-stream", key = randomUUID() }: Request): Ask => ({
  ...(body === undefined ? {} : { body }),
  headers: {
    "idempotency-key": key,
    ...(Buffer.isBuffer(body) ? { "content-type": type } : {})
  }
})

layer(TestApi.layer({ ATOLL_SERVICE_ACCESS: "on", ATOLL_COOPERATIVE: "on", ATOLL_SSH_PORT: "0" }), {
  excludeTestServices: true
})("what is another account's", (it) => {
  it.effect("is answered 404 everywhere, and stays as it is", () =>
    Effect.gen(function* () {
      const { port, send, newKey, newWorkspace, newSandbox } = yield* TestApi
      const { browser: owner, session } = yield* registered(port)
      const { browser: stranger, person } = yield* registered(port)
      const failures = yield* Effect.promise(async () => {
        const workspaceId = await newWorkspace()
        const id = await newSandbox(workspaceId)
        const at = `/api/v2/sandboxes/${id}`
        const make = async (path: string, request: Request) => {
          const { status, json, text } = await send("POST", `${at}${path}`, askOf(request))
          assert.isBelow(status, 300, text)
          return json
        }
        const operationId = (await make("/operations", { body: { argv: ["sleep", "600"] } })).operation.id
        const preview = (await make("/previews", { body: { port: 80 } })).preview
        await make("/services", access)
        const { endpointId } = await make("/cooperative-connection", connection)
        const { snapshot } = await make("/snapshots", { body: { name: "kept" } })
        const pull = { body: { reference: "registry.test/tools:1" } }
        const { image } = (await send("POST", "/api/v2/images", askOf(pull))).json
        const { processes } = (await send("GET", `${at}/processes`)).json
        const { key } = (await owner.console("POST", "/keys", { scopes: ["sandbox:read"] })).json
        const own = (await newKey(scopes, person.accountName)).secret
        const ownSandbox = await newSandbox(await newWorkspace(own), own)

        const ids: Readonly<Record<string, string>> = {
          "workspaces/:id": workspaceId,
          "sandboxes/:id": id,
          "snapshots/:id": snapshot.id,
          "images/:id": image.id,
          "keys/:id": key.id,
          "sessions/:id": session.id,
          ":operationId": operationId,
          ":previewId": preview.id,
          ":generationId": generationId,
          ":endpointId": endpointId,
          ":processId": processes[0].id
        }
        const pathOf = (path: string, sandbox: string) =>
          path
            .split("/")
            .map((word, index, words) => {
              if (!word.startsWith(":")) return word
              const found = ids[`${words[index - 1]}/${word}`] ?? ids[word]
              assert.isString(found, `Which id is ${word} of ${path}? Make one above.`)
              return found === id ? sandbox : found!
            })
            .join("/")

        /** With a ticket of its own, which is good once. */
        const strangersDownload = async () =>
          `${file.query}&ticket=${(await stranger.console("POST", "/tickets")).json.ticket}`

        const faults: Array<string> = []
        let asked = 0
        for (const { method, path, identifier } of endpoints.filter((endpoint) => endpoint.path.includes("/:"))) {
          const request = requests[identifier] ?? {}
          const below = /sandboxes\/:id\/.*:/.test(path) ? [id, ownSandbox] : [id]
          for (const sandbox of below) {
            const query = identifier === "downloadFile" ? await strangersDownload() : (request.query ?? "")
            const whole = `${pathOf(path, sandbox)}${query}`
            const ask = askOf(request)
            const answers = [await stranger.ask(method, whole, ask.body, ask.headers)]
            if (path.startsWith("/api/")) answers.push(await send(method, whole, { ...ask, key: own }))
            for (const { status, text } of answers) {
              asked += 1
              if (status !== 404) faults.push(`${method} ${whole}: ${status} ${text}`)
            }
          }
        }
        assert.isAbove(asked, 70)
        for (const query of [`sandboxId=${id}`]) {
          const { json } = await stranger.ask("GET", `/api/v2/usage/audit?${query}`)
          if (json.events.some(({ status }: { readonly status: number }) => status !== 404)) faults.push(query)
        }

        const { sandbox } = (await send("GET", at)).json
        const operation = (await send("GET", `${at}/operations/${operationId}`)).json.operation
        assert.deepStrictEqual([sandbox.status, operation.status], ["running", "running"])
        assert.strictEqual((await send("GET", `${at}/processes`)).json.processes.length, processes.length)
        assert.include((await send("GET", `/api/v2/snapshots/${snapshot.id}`)).json.snapshot, {
          name: "kept",
          deletedAt: null
        })
        assert.strictEqual((await owner.console("GET", "/keys")).json.keys[0].revokedAt, null)
        assert.strictEqual((await owner.console("GET", "/session")).status, 200)
        const { transitions } = (await send("GET", `${at}/transitions`)).json
        assert.strictEqual(transitions.at(-1).to, "running")
        const envelope = await send("POST", `${at}/services/lookup`, askOf(access))
        assert.strictEqual(envelope.status, 200)
        return faults
      })
      assert.deepStrictEqual(failures, [])
    })
  )
})
