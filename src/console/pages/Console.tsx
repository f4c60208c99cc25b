/** Shows the sign-in to visitors, and the shell with the path's page to signed-in users. */
import { path } from "./router.ts"
import { Shell } from "./Shell.tsx"
import { known, recognise } from "./session.ts"
import { Fault } from "./ui/Fault.tsx"
import { lazy } from "./ui/Lazy.tsx"
import { Link } from "./ui/Link.tsx"
import { useValue } from "./useValue.ts"

const Entrance = lazy("entrance", async () => (await import("./Entrance.tsx")).Entrance)
const Sandboxes = lazy("sandboxes", async () => (await import("./Sandboxes.tsx")).Sandboxes)
const Snapshots = lazy("snapshots", async () => (await import("./Snapshots.tsx")).Snapshots)
const Images = lazy("images", async () => (await import("./Images.tsx")).Images)
const Workspaces = lazy("workspaces", async () => (await import("./Workspaces.tsx")).Workspaces)
const Keys = lazy("keys", async () => (await import("./Keys.tsx")).Keys)
const Usage = lazy("usage", async () => (await import("./Usage.tsx")).Usage)
const Audit = lazy("audit", async () => (await import("./Audit.tsx")).Audit)
const Account = lazy("account", async () => (await import("./Account.tsx")).Account)
const Machines = lazy("machines", async () => (await import("./Machines.tsx")).Machines)
const Sandbox = lazy("sandbox", async () => (await import("./Sandbox.tsx")).Sandbox)
const Operation = lazy("operation", async () => (await import("./operation/Operation.tsx")).Operation)

const Page = () => {
  const here = useValue(path)
  const operation = /^\/sandboxes\/([^/]+)\/operations\/([^/]+)$/.exec(here)
  if (operation !== null) return <Operation key={operation[2]} sandboxId={operation[1]!} id={operation[2]!} />
  const sandbox = /^\/sandboxes\/([^/]+)(?:\/([a-z]+))?$/.exec(here)
  if (sandbox !== null) return <Sandbox id={sandbox[1]!} tab={sandbox[2] ?? null} />
  const machine = /^\/machines(?:\/([^/]+))?$/.exec(here)
  if (machine !== null) return <Machines kind={machine[1] ?? null} />
  const workspace = /^\/workspaces\/([^/]+)$/.exec(here)
  if (workspace !== null) return <Sandboxes key={workspace[1]} workspaceId={workspace[1]!} />
  switch (here) {
    case "/":
      return <Sandboxes workspaceId={null} />
    case "/snapshots":
      return <Snapshots />
    case "/images":
      return <Images />
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
            The console has no page <code>{here}</code>. <Link to="/">Go to the Sandboxes.</Link>
          </p>
        </>
      )
  }
}

export const Console = () => {
  const now = useValue(known)
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
