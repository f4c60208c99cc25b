/** The operator's page: shows the hosts to a signed-in operator, and to others how to get a link. */
import "./operator.css"
import { useEffect } from "preact/hooks"
import { came } from "../router.ts"
import { Form } from "../ui/Action.tsx"
import { Fault } from "../ui/Fault.tsx"
import { Frame } from "../ui/Frame.tsx"
import { Side } from "../ui/Side.tsx"
import { useValue } from "../useValue.ts"
import { Hosts } from "./Hosts.tsx"
import { known, recognise, signInByLink, signOut } from "./operatorSession.ts"
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

const Shell = () => {
  useEffect(() => {
    // A link is not needed while a session is active: it stays unused, and expires in minutes.
    came.value = null
  }, [])
  return (
    <div class="shell">
      <Side name="Operator" more="of this service" signOut={signOut} />
      <main id="main" tabIndex={-1}>
        <Hosts />
        <Workers />
      </main>
    </div>
  )
}

export const Operator = () => {
  const now = useValue(known)
  useEffect(() => {
    document.title = "Hosts · Atoll"
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
