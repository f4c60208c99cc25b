/** API keys of the account. The page has a secret only while its dialog is open. */
import { useState } from "preact/hooks"
import type { ConsoleKey } from "../../../schemas/console/Keys.ts"
import { ask, get } from "./api.ts"
import { isAccepted, KeyState } from "./KeyState.tsx"
import { useLoad } from "./load.ts"
import { ScopeChoice, Scopes } from "./Scopes.tsx"
import { Form } from "./ui/Action.tsx"
import { Copy } from "./ui/Copy.tsx"
import { Dialog } from "./ui/Dialog.tsx"
import { Field } from "./ui/Field.tsx"
import { Instant } from "./ui/Instant.tsx"
import { Pane } from "./ui/Pane.tsx"
import { Table } from "./ui/Table.tsx"

interface NewKey {
  readonly key: ConsoleKey
  readonly secret: string
}

type Shown =
  | { readonly what: "create" }
  | { readonly what: "secret"; readonly made: NewKey; readonly replaced: boolean }
  | { readonly what: "revoke" | "rotate"; readonly key: ConsoleKey }

const CreateKey = ({ close, made }: { close: () => void; made: (made: NewKey) => void }) => (
  <Dialog title="Create an API key" close={close}>
    <Form
      label="Create the key"
      busyLabel="Creating …"
      cancel={close}
      submit={async (data) => {
        const chosen = data.getAll("scopes").map(String)
        if (chosen.length === 0) throw new Error("Choose at least one scope.")
        const expires = String(data.get("expiresAt"))
        const expiresAt = expires === "" ? null : new Date(expires).toISOString()
        made(
          await ask<NewKey>("POST", "/console/api/keys", {
            body: { name: String(data.get("name")).trim(), scopes: chosen, expiresAt }
          })
        )
      }}
    >
      <Field label="Name" name="name" maxLength={128} required hint="Its purpose." autocomplete="off" />
      <ScopeChoice />
      <Field
        label="Expires"
        name="expiresAt"
        type="datetime-local"
        hint="Optional, in this browser's time zone. The key expires then."
      />
    </Form>
  </Dialog>
)

const Secret = ({ made: { key, secret }, replaced, close }: { made: NewKey; replaced: boolean; close: () => void }) => (
  <Dialog title={`The secret of “${key.name}”`} close={close}>
    <p class="notice" role="status">
      <strong>This is shown now and never again.</strong> Keep it like a password: anyone who has it can do what its
      scopes allow.{replaced ? " The old key is refused from now on." : ""}
    </p>
    <Copy text={secret} label="Copy the secret" />
    <div class="buttons">
      <button type="button" class="button primary" onClick={close}>
        I have saved it
      </button>
    </div>
  </Dialog>
)

export const Keys = () => {
  const loaded = useLoad("keys", (signal) =>
    get<{ readonly keys: ReadonlyArray<ConsoleKey> }>("/console/api/keys", signal)
  )
  const [shown, setShown] = useState<Shown | null>(null)
  const close = () => setShown(null)
  const showSecret = (replaced: boolean) => (made: NewKey) => {
    setShown({ what: "secret", made, replaced })
    loaded.reload()
  }
  return (
    <>
      <h1>Keys</h1>
      <p class="lead">
        Programs call the API with <code>Authorization: Bearer</code> and a key. A key acts for the whole account,
        within its scopes.
      </p>
      <Pane
        title="API keys"
        loaded={loaded}
        actions={
          <button type="button" class="button primary" onClick={() => setShown({ what: "create" })}>
            Create
          </button>
        }
      >
        {({ keys }) =>
          keys.length === 0 ? (
            <p class="empty">There are no keys yet.</p>
          ) : (
            <Table label="API keys" columns={["Name", "State", "Scopes", "Created", "Last used", "Actions"]}>
              {keys.toReversed().map((key) => (
                <tr key={key.id}>
                  <td>
                    <strong class="break">{key.name}</strong>
                    <code class="soft block">… {key.hint}</code>
                  </td>
                  <td>
                    <KeyState of={key} />
                  </td>
                  <td>
                    <Scopes of={key.scopes} />
                  </td>
                  <td>
                    <Instant at={key.createdAt} />
                  </td>
                  <td>
                    <Instant at={key.lastUsedAt} none="never" />
                    {key.lastUsedFrom === null ? null : <span class="soft block">from {key.lastUsedFrom}</span>}
                  </td>
                  <td>
                    {!isAccepted(key) ? null : (
                      <span class="actions">
                        <button
                          type="button"
                          class="button small"
                          aria-label={`Rotate ${key.name}`}
                          onClick={() => setShown({ what: "rotate", key })}
                        >
                          Rotate
                        </button>
                        <button
                          type="button"
                          class="button small"
                          aria-label={`Revoke ${key.name}`}
                          onClick={() => setShown({ what: "revoke", key })}
                        >
                          Revoke
                        </button>
                      </span>
                    )}
                  </td>
                </tr>
              ))}
            </Table>
          )
        }
      </Pane>
      {shown?.what === "create" ? <CreateKey close={close} made={showSecret(false)} /> : null}
      {shown?.what === "secret" ? <Secret made={shown.made} replaced={shown.replaced} close={close} /> : null}
      {shown?.what === "revoke" ? (
        <Dialog title="Revoke this key?" close={close}>
          <p>
            <strong class="break">{shown.key.name}</strong> (… {shown.key.hint}) is refused everywhere from then on.
            This cannot be undone.
          </p>
          <Form
            label="Revoke"
            busyLabel="Revoking …"
            kind="danger"
            cancel={close}
            submit={async () => {
              await ask("POST", `/console/api/keys/${shown.key.id}/revoke`)
              close()
              loaded.reload()
            }}
          />
        </Dialog>
      ) : null}
      {shown?.what === "rotate" ? (
        <Dialog title="Rotate this key?" close={close}>
          <p>
            A new key takes the place of <strong class="break">{shown.key.name}</strong> (… {shown.key.hint}), with the
            same scopes and the same end. The old one is refused from then on.
          </p>
          <Form
            label="Rotate"
            busyLabel="Rotating …"
            kind="danger"
            cancel={close}
            submit={async () => showSecret(true)(await ask<NewKey>("POST", `/console/api/keys/${shown.key.id}/rotate`))}
          />
        </Dialog>
      ) : null}
    </>
  )
}
