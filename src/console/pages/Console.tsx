/** Who is not signed in sees the entrance, everybody else the shell with the page of the path. */
import { Account } from "./Account.tsx"
import { Audit } from "./Audit.tsx"
import { Entrance } from "./Entrance.tsx"
import { Keys } from "./Keys.tsx"
import { path } from "./router.ts"
import { Sandboxes } from "./Sandboxes.tsx"
import { SandboxPage } from "./SandboxPage.tsx"
import { Shell } from "./Shell.tsx"
import { known, recognise } from "./session.ts"
import { Usage } from "./Usage.tsx"
import { Fault } from "./ui/Fault.tsx"
import { Link } from "./ui/Link.tsx"

const sandboxPath = /^\/sandboxes\/(sbx_[0-9a-z]+)$/

const Page = () => {
  const sandboxId = sandboxPath.exec(path.value)?.[1]
  if (sandboxId !== undefined) return <SandboxPage key={sandboxId} id={sandboxId} />
  switch (path.value) {
    case "/":
      return <Sandboxes />
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
