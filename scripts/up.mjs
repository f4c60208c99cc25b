/** `npm run up`: installs what is missing, starts Atoll, and shows how to use it. */
import { spawn, spawnSync } from "node:child_process"
import { accessSync, constants } from "node:fs"
import { modernNode, ownEnvironment, root, setUp } from "./setup.mjs"

if (!setUp()) process.exit(1)

const node = modernNode()
const env = ownEnvironment()

const service = spawn(node, ["src/main.ts"], { cwd: root, env, stdio: ["ignore", "inherit", "inherit", "ipc"] })

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => service.kill(signal))

service.on("exit", (code, signal) => {
  process.exitCode = code ?? (signal === null ? 1 : 128)
})

/** An address to type: a server that listens everywhere is also here. */
const reachable = (address) => address.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")

/** `secret` of a first API key and `code` of a first sign-in link, each null when there is one already. */
const firstAccess = () => {
  const { stdout } = spawnSync(node, ["scripts/first-access.ts"], {
    cwd: root,
    env,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"]
  })
  return stdout.trim() === "" ? { secret: null, code: null } : JSON.parse(stdout)
}

const mayOpen = (device) => {
  try {
    accessSync(device, constants.R_OK | constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** A Sandbox's network is a tunnel device, with or without root. */
const network = mayOpen("/dev/net/tun") ? "" : ',"networkEnabled":false'

/** The part behind the # stays in the browser. */
const signIn = (url, code) => {
  const page = `${env.ATOLL_PUBLIC_URL || url}/console/`
  return code === null
    ? `The console is at ${page}; a link that signs in once: npm run --silent atoll -- accounts recover default`
    : `Open the console with this link; it works once, within a day:

    ${page}#link=${code}`
}

const greeting = (url, { secret: key, code }) => `
Atoll is at ${url}

${signIn(url, code)}

${
  key === null
    ? `Use the API key that you have; another one: npm run --silent atoll -- keys create --account default --scopes all

    KEY=…`
    : `Your first API key, shown only now:

    KEY=${key}`
}

A workspace, a Sandbox in it, a command in that; README.md continues from there:

    U=${url}/api/v2  A="Authorization: Bearer $KEY"  J="Content-Type: application/json"  K=$(date +%s)
    WSP=$(curl -sS -H "$A" -H "$J" -H "Idempotency-Key: first-$K" $U/workspaces -d '{"name":"first"}' | grep -o 'wsp_[0-9a-z]*' | head -n 1); echo $WSP
    SBX=$(curl -sS -H "$A" -H "$J" -H "Idempotency-Key: first-$K" "$U/sandboxes?wait=running" -d '{"workspaceId":"'$WSP'"${network}}' | grep -o 'sbx_[0-9a-z]*' | head -n 1); echo $SBX
    curl -sS --retry 60 --retry-delay 1 -H "$A" -H "$J" $U/sandboxes/$SBX/execute -d '{"argv":["uname","-a"]}'

Ctrl-C stops Atoll; the data stays, and Sandboxes go on. This ends them, too: npm run --silent atoll -- down
`

service.on("message", (message) => {
  // Users of a host send their requests to its fleet's services.
  if (message.role === "host") return
  process.stdout.write(`${greeting(reachable(message.ready), firstAccess())}\n`)
})
