/** Before anybody is signed in: the sign-in, or what the link says that one came by. */
import { Register } from "./Register.tsx"
import { came, navigate, path } from "./router.ts"
import { signIn, signInByLink } from "./session.ts"
import { Form } from "./ui/Action.tsx"
import { Field } from "./ui/Field.tsx"
import { Frame } from "./ui/Frame.tsx"
import { useValue } from "./useValue.ts"

const SignIn = ({ wasIn }: { wasIn: boolean }) => (
  <Frame title="Sign in">
    {wasIn ? (
      <p class="notice" role="status">
        Your session is over. Sign in again to go on.
      </p>
    ) : null}
    <Form
      label="Sign in"
      busyLabel="Signing in …"
      submit={(data) => signIn(String(data.get("email")), String(data.get("passphrase")))}
    >
      <Field label="E-mail" name="email" type="email" autocomplete="username" required />
      <Field label="Passphrase" name="passphrase" type="password" autocomplete="current-password" required />
    </Form>
    <p class="hint">
      Accounts are made by invitation. Who has forgotten a passphrase asks the operator of this service for a link.
    </p>
  </Frame>
)

/** A link is used up by opening it, so nobody's mail program may do that: somebody must press a button. */
const ByLink = ({ code }: { code: string }) => (
  <Frame title="Sign in by link">
    <p>This link signs you in once.</p>
    <Form label="Sign in" busyLabel="Signing in …" cancel={giveUp} submit={() => signInByLink(code).then(arrive)} />
  </Frame>
)

const giveUp = () => {
  came.value = null
}

const arrive = () => {
  came.value = null
  if (path.value !== "/") navigate("/", "replace")
}

export const Entrance = ({ wasIn }: { wasIn: boolean }) => {
  const link = useValue(came)
  if (link === null) return <SignIn wasIn={wasIn} />
  const { kind, code } = link
  if (kind === "link") return <ByLink key={code} code={code} />
  return (
    <Frame title="Make an account">
      <Register key={code} code={code} giveUp={giveUp} done={arrive} />
    </Frame>
  )
}
