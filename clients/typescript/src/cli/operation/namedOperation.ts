/** An operation by its id, its only name. */
import { AtollError } from "../../errors.ts"
import type { Operation } from "../../Operation.ts"
import type { Sandbox } from "../../Sandbox.ts"
import { Refused } from "../failure.ts"

export const namedOperation = (sandbox: Sandbox, id: string): Promise<Operation> =>
  sandbox.operation(id).catch((thrown: unknown) => {
    if (!(thrown instanceof AtollError) || !thrown.is("NOT_FOUND")) throw thrown
    throw new Refused(
      `There is no operation ${JSON.stringify(id)} in this Sandbox. \`atoll operation list ${sandbox.id}\` shows its operations.`,
      null,
      thrown
    )
  })
