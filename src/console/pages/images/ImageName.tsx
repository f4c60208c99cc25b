import { Field } from "../ui/Field.tsx"

export const ImageName = () => (
  <Field label="Name" name="name" maxLength={128} hint="Optional; need not be unique." autocomplete="off" />
)
