/** Who is not signed in sees the entrance, everybody else the shell with the page of the path. */
import { Account } from "./Account.tsx"
import { Audit } from "./Audit.tsx"
import { Entrance } from "./Entrance.tsx"
import { Keys } from "./Keys.tsx"
import { path } from "./router.ts"
import { Sandboxes } from "./Sandboxes.tsx"
import { Shell } from "./Shell.tsx"
import { known, recognise } from "./session.ts"
import { Usage } from "./Usage.tsx"
import { Fault } from "./ui/Fault.tsx"
import { lazy } from "./ui/Lazy.tsx"
import { Link } from "./ui/Link.tsx"
import { Workspaces } from "./Workspaces.tsx"

// These bring the machines and XState along.
const Machines = lazy("machines", async () => (await import("./Machines.tsx")).Machines)
const Sandbox = lazy("sandbox", async () => (await import("./Sandbox.tsx")).Sandbox)
const Operation = lazy("operation", async () => (await import("./operation/Operation.tsx")).Operation)

const Page = () => {
  const operation = /^\/sandboxes\/([^/]+)\/operations\/([^/]+)$/.exec(path.value)
  if (operation !== null) return <Operation key={operation[2]} sandboxId={operation[1]!} id={operation[2]!} />
  const sandbox = /^\/sandboxes\/([^/]+)(?:\/([a-z]+))?$/.exec(path.value)
  if (sandbox !== null) return <Sandbox id={sandbox[1]!} tab={sandbox[2] ?? null} />
  const machine = /^\/machines(?:\/([^/]+))?$/.exec(path.value)
  if (machine !== null) return <Machines kind={machine[1] ?? null} />
  const workspace = /^\/workspaces\/([^/]+)$/.exec(path.value)
  if (workspace !== null) return <Sandboxes key={workspace[1]} workspaceId={workspace[1]!} />
  switch (path.value) {
    case "/":
      return <Sandboxes workspaceId={null} />
    case "/workspaces":
      return <Workspaces />
    case "/keys":
      return <Keys />
    case "/usage":
      return <Usage />
    case "/audit":
      return <Audit />
    case "/account":
      return <Account />
    default:
      return (
        <>
          <h1>No such page</h1>
          <p>
            The console has nothing at <code>{path.value}</code>. <Link to="/">Go to the Sandboxes.</Link>
          </p>
        </>
      )
  }
}

export const Console = () => {
  const now = known.value
  switch (now.state) {
    case "asking":
      return <p class="waiting centre">Loading …</p>
    case "failed":
      return (
        <main class="entrance">
          <h1>Atoll</h1>
          <Fault fault={now.fault} retry={() => void recognise()} />
        </main>
      )
    case "out":
      return <Entrance wasIn={now.wasIn} />
    case "in":
      return (
        <Shell session={now.session}>
          <Page />
        </Shell>
      )
  }
}
