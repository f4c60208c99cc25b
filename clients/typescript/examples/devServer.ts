/** A web server in a Sandbox, its page in your browser, and a change of it: `node devServer.ts`, Ctrl-C ends it. */
import { Atoll } from "@atoll/client"

await using sandbox = await new Atoll().sandboxes.create({ networkEnabled: true, lifetime: { stopAfterSeconds: 3600 } })
await sandbox.files.write("index.html", "<h1>Hello</h1>")
const server = await sandbox.start(["python3", "-um", "http.server", "3000"], { cwd: "/workspace" })

await using preview = await sandbox.previews.open(3000) // waits until the server answers
console.log(`Open ${preview.url}`)
await sandbox.files.edit("index.html", { oldText: "Hello", newText: "Hello again" })

process.once("SIGINT", () => server.cancel())
for await (const { bytes } of server.output()) process.stderr.write(bytes) // who asks for what, until it is cancelled
