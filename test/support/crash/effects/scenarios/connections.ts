/** Ways into a Sandbox. */
import { type AskStep, epochMs, type Scenario } from "./Scenario.ts"
import { create, make, post, remove, running, workspace } from "./steps.ts"

/** There is no key: a port has at most one open preview, which can be looked up. */
const open = (name: string, port: number): ReadonlyArray<AskStep> => [
  {
    ...post(name, "/sandboxes/{create}/previews", { port }),
    otherwise: post(`${name} found`, "/sandboxes/{create}/previews/lookup", { port })
  }
]

/** The key of an access is its id. */
const accessIds = ["7f1c2d90-5b0e-4b7a-9d35-2f6f0c1e8a44", "7f1c2d90-5b0e-4b7a-9d35-2f6f0c1e8a45"] as const
const ports = { requested_at: new Date(epochMs).toISOString(), ports: [3000] }

const grants = "/sandboxes/{create}/cooperative-connection"
const publicKeys = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFamwJMHwchcmLNm7FbRfD7l3ZUX+HUrv6CPjIFB6ckS test"]
const regrant = (grant: string, name: string): AskStep => post(name, `${grants}/{${grant}}`, { publicKeys })

const isSameGrant: NonNullable<AskStep["holds"]> = ({ json }, answers) => {
  const first = answers.get("grant")!.json
  return json.endpointId === first.endpointId && json.expiresAt === first.expiresAt && json.hostKey === first.hostKey
}

export const connectionScenarios: ReadonlyArray<Scenario> = [
  {
    name: "preview",
    steps: [
      workspace,
      create({ networkEnabled: true }),
      ...open("preview", 3000),
      remove("close", "/sandboxes/{create}/previews/{preview}"),
      ...open("another", 3001),
      post("stop", "/sandboxes/{create}/stop")
    ]
  },
  {
    name: "service access",
    steps: [
      ...running,
      { ...make("access", "/sandboxes/{create}/services", ports), key: accessIds[0] },
      // What is over is not there: 404.
      { ...post("brief", "/sandboxes/{create}/services", ports), key: accessIds[1] },
      remove("revoke", `/sandboxes/{create}/services/${accessIds[1]}`)
    ]
  },
  {
    name: "all previews",
    steps: [
      workspace,
      create({ networkEnabled: true }),
      ...open("preview", 3000),
      remove("close all", "/sandboxes/{create}/previews"),
      ...open("another", 3001)
    ]
  },
  {
    name: "SSH grant",
    environment: { ATOLL_COOPERATIVE: "on", ATOLL_SSH_PORT: "0" },
    steps: [
      ...running,
      post("grant", grants, { publicKeys }),
      { ...regrant("grant", "the same"), holds: isSameGrant },
      remove("revoke", `${grants}/{grant}`),
      // Who had no answer looks whether it is still granted.
      { ...regrant("grant", "revoked"), status: 404, isRepeated: true },
      post("brief", grants, { publicKeys }),
      post("stop", "/sandboxes/{create}/stop")
    ]
  }
]
