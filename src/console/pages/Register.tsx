/** Registration by invitation. */
import type { Invitation } from "../../../schemas/console/Session.ts"
import { ask } from "./api.ts"
import { usd } from "./format.ts"
import { useLoad } from "./load.ts"
import { register } from "./session.ts"
import { Form } from "./ui/Action.tsx"
import { Fault } from "./ui/Fault.tsx"
import { Field } from "./ui/Field.tsx"
import { Instant } from "./ui/Instant.tsx"

type Invited = (typeof Invitation)["Type"]

interface Asked {
  readonly code: string
  readonly giveUp: () => void
  readonly done: () => void
}

export const Register = ({ code, giveUp, done }: Asked) => {
  const { value, fault, reload } = useLoad(code, (signal) =>
    ask<{ readonly invitation: Invited }>("POST", "/console/api/invitation", { body: { code }, signal })
  )
  if (fault !== null) {
    return (
      <>
        <Fault fault={fault} retry={reload} />
        <button type="button" class="button" onClick={giveUp}>
          Sign in instead
        </button>
      </>
    )
  }
  if (value === null) return <p class="waiting">Checking the invitation …</p>
  const { email, creditMicroUsd, expiresAt } = value.invitation
  return (
    <>
      <p>
        You are invited{creditMicroUsd > 0 ? `, with ${usd(creditMicroUsd)} of credit` : ""}. The invitation works once,
        until <Instant at={expiresAt} />.
      </p>
      <Form
        label="Create account"
        busyLabel="Creating the account …"
        submit={async (data) => {
          await register({
            code,
            email: String(data.get("email")),
            accountName: String(data.get("accountName")),
            passphrase: String(data.get("passphrase"))
          })
          done()
        }}
      >
        <Field
          label="E-mail"
          name="email"
          type="email"
          autocomplete="username"
          required
          {...(email === null ? {} : { value: email, readOnly: true, hint: "The invitation is for this address." })}
        />
        <Field label="Account name" name="accountName" autocomplete="organization" maxLength={128} required />
        <Field
          label="Passphrase"
          name="passphrase"
          type="password"
          autocomplete="new-password"
          minLength={12}
          maxLength={256}
          required
          hint="At least 12 characters. A few words are better than a short mixture of symbols."
        />
      </Form>
    </>
  )
}
