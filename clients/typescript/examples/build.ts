/** A long build with live output: `node build.ts`. End it, and go on where it was with what it printed: `node build.ts SANDBOX OPERATION`. */
import { Atoll } from "@atoll/client"

const script = 'for part in lexer parser checker linker; do echo "building $part"; sleep 1; done; echo done > result'

const atoll = new Atoll()
const [sandboxId, operationId] = process.argv.slice(2)
const sandbox = sandboxId ? await atoll.sandboxes.get(sandboxId) : await atoll.sandboxes.create({ name: "build" })
const build = operationId ? await sandbox.operation(operationId) : await sandbox.start(["sh", "-ec", script])
console.log(`node build.ts ${sandbox.id} ${build.id}`)

for await (const { stream, bytes } of build.output()) process[stream].write(bytes) // goes on over lost connections
const { exitCode } = await build.wait()
console.log(exitCode === 0 ? `built: ${await sandbox.files.read("result")}` : `failed with ${exitCode}`)
await sandbox.delete()
