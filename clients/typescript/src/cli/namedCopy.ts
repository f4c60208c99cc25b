/** An image or a snapshot by its id, or by its name if only one that is not deleted has it. */
import { AtollError } from "../errors.ts"
import { Refused } from "./failure.ts"

interface Copy<Status> {
  readonly id: string
  readonly record: { readonly name: string | null; readonly status: Status }
}

interface Kind<Status, One> {
  /** As sentences name one. */
  readonly noun: string
  /** As sentences name several, and the command that lists them. */
  readonly plural: string
  readonly idForm: RegExp
  /** All statuses but those of deleted ones and of ones that are being deleted. */
  readonly there: ReadonlyArray<Status>
  readonly get: (id: string) => Promise<One>
  readonly list: (options: { readonly status: ReadonlyArray<Status> }) => AsyncIterable<One>
}

export const namedCopy = async <Status, One extends Copy<Status>>(
  { noun, plural, idForm, there, get, list }: Kind<Status, One>,
  nameOrId: string
): Promise<One> => {
  const absent = (cause?: unknown) =>
    new Refused(
      `There is no ${noun} ${JSON.stringify(nameOrId)}. \`atoll ${plural} list\` shows the account's ${plural}.`,
      null,
      cause
    )
  if (idForm.test(nameOrId)) {
    return get(nameOrId).catch((thrown: unknown) => {
      throw thrown instanceof AtollError && thrown.is("NOT_FOUND") ? absent(thrown) : thrown
    })
  }
  const found: Array<One> = []
  for await (const one of list({ status: there })) if (one.record.name === nameOrId) found.push(one)
  const [one, ...others] = found
  if (one === undefined) throw absent()
  if (others.length > 0) {
    const ids = found.map(({ id }) => id).join(", ")
    throw new Refused(
      `${found.length} ${plural} have the name ${JSON.stringify(nameOrId)}. Say which, by its id: ${ids}`
    )
  }
  return one
}
