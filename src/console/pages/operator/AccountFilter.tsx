import { Field } from "../ui/Field.tsx"
import { textIn } from "./ActDialog.tsx"

/** Narrows a list to one account. */
export const AccountFilter = ({ account, apply }: { account: string; apply: (account: string) => void }) => (
  <form
    class="filters"
    aria-label="Filters"
    onSubmit={(event) => {
      event.preventDefault()
      apply(textIn(new FormData(event.currentTarget), "account") ?? "")
    }}
    onReset={() => apply("")}
  >
    <Field
      key={account}
      label="Account"
      name="account"
      defaultValue={account}
      placeholder="Name or id"
      autocomplete="off"
      spellcheck={false}
    />
    <div class="buttons">
      <button type="submit" class="button">
        Filter
      </button>
      <button type="reset" class="button">
        Show all
      </button>
    </div>
  </form>
)
