/** The pages before sign-in: the sign-in form, or the page for an invitation or a sign-in link. */
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
        Your session has ended. Sign in again to continue.
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
      Accounts are created by invitation. If you forgot your passphrase, ask the operator of this service for a link.
    </p>
  </Frame>
)

/** Opening a sign-in link consumes it, so a button must be pressed: mail programs open links by themselves. */
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
    <Frame title="Create an account">
      <Register key={code} code={code} giveUp={giveUp} done={arrive} />
    </Frame>
  )
}
