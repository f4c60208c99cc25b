/** The operator's page: its parts for a signed-in operator, and for others how to get a link. */
import "./operator.css"
import { useEffect, useState } from "preact/hooks"
import { came } from "../router.ts"
import { Form } from "../ui/Action.tsx"
import { Fault } from "../ui/Fault.tsx"
import { Frame } from "../ui/Frame.tsx"
import { Side } from "../ui/Side.tsx"
import { useValue } from "../useValue.ts"
import { Accounts } from "./Accounts.tsx"
import { Backups } from "./Backups.tsx"
import { Books } from "./Books.tsx"
import { Doctor } from "./Doctor.tsx"
import { Hosts } from "./Hosts.tsx"
import { Invitations } from "./Invitations.tsx"
import { OperatedAudit } from "./OperatedAudit.tsx"
import { OperatedKeys } from "./OperatedKeys.tsx"
import { known, recognise, signInByLink, signOut } from "./operatorSession.ts"
import { Rates } from "./Rates.tsx"
import { Sessions } from "./Sessions.tsx"
import { Workers } from "./Workers.tsx"

/** Opening a sign-in link consumes it, so a button must be pressed: mail programs open links by themselves. */
const SignIn = ({ wasIn }: { wasIn: boolean }) => {
  const link = useValue(came)
  return (
    <Frame title="Operator">
      {wasIn ? (
        <p class="notice" role="status">
          Your session has ended.
        </p>
      ) : null}
      {link === null ? (
        <>
          <p>The operator signs in with a link from the command line, which works once; no account has that power:</p>
          <code class="secret">npm run --silent atoll -- operator link</code>
        </>
      ) : (
        <>
          <p>This link signs you in once, as the operator of this service.</p>
          <Form
            key={link.code}
            label="Sign in"
            busyLabel="Signing in …"
            cancel={() => {
              came.value = null
            }}
            submit={() => signInByLink(link.code)}
          />
        </>
      )}
    </Frame>
  )
}

const parts = [
  "Accounts",
  "Keys",
  "Invitations",
  "Rates",
  "Usage",
  "Hosts",
  "Health",
  "Backups",
  "Audit",
  "Sessions"
] as const
type PartName = (typeof parts)[number]

/** A part of the page, narrowed to an account; empty: it is not. */
interface Place {
  readonly part: PartName
  readonly account: string
}

const Part = ({ at: { part, account }, go }: { at: Place; go: (place: Place) => void }) => {
  switch (part) {
    case "Accounts":
      return <Accounts lead={(part, account) => go({ part, account })} />
    case "Keys":
      return <OperatedKeys of={account} />
    case "Invitations":
      return <Invitations />
    case "Rates":
      return <Rates />
    case "Usage":
      return <Books />
    case "Hosts":
      return <Hosts />
    case "Health":
      return (
        <>
          <h1>Health</h1>
          <Workers />
          <Doctor />
        </>
      )
    case "Backups":
      return <Backups />
    case "Audit":
      return <OperatedAudit of={account} />
    case "Sessions":
      return <Sessions />
  }
}

const Shell = () => {
  const [shown, show] = useState<Place>({ part: "Accounts", account: "" })
  useEffect(() => {
    // A link is not needed while a session is active: it stays unused, and expires in minutes.
    came.value = null
  }, [])
  return (
    <div class="shell">
      <Side name="Operator" more="of this service" signOut={signOut}>
        <nav aria-label="Pages">
          <ul>
            {parts.map((part) => (
              <li key={part}>
                <button
                  type="button"
                  aria-current={part === shown.part ? "page" : "false"}
                  onClick={() => show({ part, account: "" })}
                >
                  {part}
                </button>
              </li>
            ))}
          </ul>
        </nav>
      </Side>
      <main id="main" tabIndex={-1}>
        <Part key={`${shown.part} ${shown.account}`} at={shown} go={show} />
      </main>
    </div>
  )
}

export const Operator = () => {
  const now = useValue(known)
  useEffect(() => {
    document.title = "Operator · Atoll"
    void recognise()
  }, [])
  switch (now.state) {
    case "asking":
      return <p class="waiting centre">Loading …</p>
    case "failed":
      return (
        <Frame title="Operator">
          <Fault fault={now.fault} retry={() => void recognise()} />
        </Frame>
      )
    case "out":
      return <SignIn wasIn={now.wasIn} />
    case "in":
      return <Shell />
  }
}
