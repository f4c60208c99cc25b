/** What the operator may do with accounts: each act names the command that does the same. */
import type { OperatedAccount } from "../../../../schemas/console/Operating.ts"
import { oneLine } from "../characterPicture.ts"
import { Field, Select } from "../ui/Field.tsx"
import { type Act, textIn } from "./ActDialog.tsx"

export const createAct: Act = {
  title: "Create an account",
  label: "Create the account",
  path: "/accounts",
  means: "The account has no key and no person yet: invite a person instead, or create a key for it.",
  fields: (
    <>
      <Field label="Name" name="name" required maxLength={128} autocomplete="off" />
      <Field label="E-mail" name="email" hint="For display; optional." autocomplete="off" />
      <Select
        label="Billing"
        name="billing"
        options={[
          ["unlimited", "unlimited: usage is only recorded"],
          ["prepaid", "prepaid: usage is limited to the credit"]
        ]}
      />
      <Field label="Initial credit in dollars" name="creditUsd" hint="For prepaid accounts: 12.50" autocomplete="off" />
    </>
  ),
  body: (data) => ({
    name: textIn(data, "name") ?? "",
    email: textIn(data, "email"),
    billing: textIn(data, "billing"),
    creditUsd: textIn(data, "creditUsd")
  })
}

const of = ({ id }: OperatedAccount): string => `/accounts/${encodeURIComponent(id)}`

const written = (own: number | null): string => (own === null ? "setting" : String(own))

export const limitsAct = (account: OperatedAccount): Act => ({
  title: `Limits of ${oneLine(account.name)}`,
  label: "Set the limits",
  path: `${of(account)}/limits`,
  means: "What the account already has above a limit stays. “setting” means the limit of the settings.",
  fields: (
    <>
      <Field label="Sandboxes" name="sandboxes" defaultValue={written(account.ownLimits.sandboxes)} required />
      <Field label="Workspaces" name="workspaces" defaultValue={written(account.ownLimits.workspaces)} required />
      <Field
        label="Bytes of one workspace's volumes"
        name="workspaceStorageBytes"
        defaultValue={written(account.ownLimits.workspaceStorageBytes)}
        required
      />
    </>
  ),
  body: (data) => ({
    sandboxes: textIn(data, "sandboxes") ?? "",
    workspaces: textIn(data, "workspaces") ?? "",
    workspaceStorageBytes: textIn(data, "workspaceStorageBytes") ?? ""
  })
})

export const creditAct = (account: OperatedAccount): Act => ({
  title: `Give credit to ${oneLine(account.name)}`,
  label: "Give the credit",
  path: `${of(account)}/credit`,
  means: "The credit is available immediately. Promotional credit is spent first.",
  fields: (
    <>
      <Field label="Dollars" name="usd" required placeholder="12.50" autocomplete="off" />
      <Select
        label="Kind"
        name="kind"
        options={(["purchase", "promotional", "adjustment"] as const).map((kind) => [kind, kind] as const)}
      />
      <Field label="Expires at" name="expiresAt" hint="2027-01-31T12:00:00Z; empty: never." autocomplete="off" />
      <Field label="Description" name="description" hint="A text that the account sees; optional." />
    </>
  ),
  body: (data) => ({
    usd: textIn(data, "usd") ?? "",
    kind: textIn(data, "kind"),
    expiresAt: textIn(data, "expiresAt"),
    description: textIn(data, "description")
  })
})

export const recoverAct = (account: OperatedAccount): Act => ({
  title: `Recover ${oneLine(account.name)}?`,
  label: "Make the link",
  path: `${of(account)}/recover`,
  means:
    "A link is made and shown once. The first person to open it is signed in to the account, and may set its passphrase."
})

export const suspendAct = (account: OperatedAccount): Act => ({
  title: `Suspend ${oneLine(account.name)}?`,
  label: "Suspend",
  isDangerous: true,
  path: `${of(account)}/suspend`,
  means: "Each of its keys is refused from then on, and its Sandboxes are stopped. Volumes, records and logs stay."
})

export const resumeAct = (account: OperatedAccount): Act => ({
  title: `Resume ${oneLine(account.name)}?`,
  label: "Resume",
  path: `${of(account)}/resume`,
  means: "Its keys work again. Its Sandboxes stay stopped until a client starts them."
})
