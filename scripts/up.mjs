/** `npm run up`: installs what is missing, starts Atoll, and shows how to use it. */
import { spawn, spawnSync } from "node:child_process"
import { accessSync, constants } from "node:fs"
import { join, resolve } from "node:path"
import { modernNode, ownEnvironment, root, setUp } from "./setup.mjs"
import { startEnvironment } from "./startEnvironment.mjs"

const [option] = process.argv.slice(2)
if (option !== undefined) {
  const isAsked = option === "--help" || option === "-h"
  const usage =
    "npm run up installs what is missing and starts Atoll; Ctrl-C stops it. It takes no options: settings are environment variables (docs/settings.md)."
  process.stderr.write(isAsked ? `${usage}\n` : `Unknown option ${option}. ${usage}\n`)
  process.exit(isAsked ? 0 : 2)
}

if (!setUp()) process.exit(1)

const node = modernNode()
// For a person, also through a pipe or into a file.
const env = { ...ownEnvironment(), ATOLL_LOG_FORMAT: process.env.ATOLL_LOG_FORMAT || "readable" }

process.stderr.write("Starting Atoll …\n")
const service = spawn(node, ["src/main.mjs"], {
  cwd: root,
  env: { ...startEnvironment(root), ...env },
  stdio: ["ignore", "inherit", "inherit", "ipc"]
})

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => service.kill(signal))

service.on("exit", (code, signal) => {
  process.exitCode = code ?? (signal === null ? 1 : 128)
})

/** An address to type: a server that listens everywhere is also here. */
const reachable = (address) => address.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")

const compileCache = "./src/platform/compileCache/enabled.mjs"

/** What `first-access.ts` says. */
const firstAccess = (url) => {
  const { stdout } = spawnSync(node, ["--import", compileCache, "scripts/first-access.ts", url], {
    cwd: root,
    env,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"]
  })
  return stdout.trim() === "" ? { secret: null, isLoggedIn: false, code: null } : JSON.parse(stdout)
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
const network = mayOpen("/dev/net/tun")
  ? { option: "", field: "" }
  : { option: " --no-network", field: "{ networkEnabled: false }" }

/** A shell that did not start Atoll does not have its data folder; one that names another folder means that. */
const dataFolder = env.ATOLL_DATA_DIR
  ? `ATOLL_DATA_DIR=\${ATOLL_DATA_DIR:-'${resolve(root, env.ATOLL_DATA_DIR).replaceAll("'", "'\\''")}'} `
  : ""
const command = `${dataFolder}npm run --silent atoll --`

/** The part behind the # stays in the browser. */
const signIn = (url, code) => {
  const page = `${env.ATOLL_PUBLIC_URL || url}/console/`
  return code === null
    ? `The console is at ${page}; a link that signs in once: ${command} accounts recover default`
    : `Open the console with this link; it works once, within a day:

    ${page}#link=${code}`
}

/** How `atoll` and `$KEY` get a key, in lines for a shell. */
const access = (url, { secret, isLoggedIn }) => {
  if (secret !== null) return `KEY=${secret}`
  if (isLoggedIn) return "KEY=$(atoll whoami --key)"
  return `KEY=$(atoll keys create --account default --scopes all); echo "$KEY" | atoll login ${url}`
}

const typescript = (url) => `import { Atoll } from "${join(root, "clients/typescript/src/index.ts")}"
    await using sandbox = await new Atoll({ url: "${url}", apiKey: process.env.KEY }).sandboxes.create(${network.field})
    console.log((await sandbox.run(["uname", "-a"])).stdout)`

const greeting = (url, found) => `
Atoll is at ${url}

${signIn(url, found.code)}

A command line for it, an API key${found.secret === null ? "" : " (shown only now; the command line keeps it)"}, and a command in a Sandbox that exists only for it:

    atoll() { ${command} "$@"; }
    ${access(url, found)}
    atoll run${network.option} -- uname -a

The same over HTTP, in a Sandbox that stays; README.md continues from there:

    U=${url}/api/v2  A="Authorization: Bearer $KEY"  J="Content-Type: application/json"  K=$(date +%s)
    SBX=$(atoll sandbox create --name first${network.option}); echo $SBX
    curl -sS -H "$A" -H "$J" $U/sandboxes/$SBX/execute -d '{"argv":["uname","-a"]}'

The same in TypeScript (in a file first.ts: KEY=$KEY node first.ts, with Node 24):

    ${typescript(url)}

Ctrl-C stops Atoll; the data stays, and Sandboxes go on. This ends them, too: ${command} down
`

service.on("message", (message) => {
  // Users of a host send their requests to its fleet's services.
  if (message.role === "host") return
  const url = reachable(message.ready)
  process.stdout.write(`${greeting(url, firstAccess(url))}\n`)
})
