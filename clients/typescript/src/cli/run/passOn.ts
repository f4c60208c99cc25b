/** Passes an operation's output on to stdout and stderr, as bytes. */
import type { Operation as OperationRecord } from "../../generated/schemas.ts"
import type { FollowOptions, Operation } from "../../Operation.ts"
import { remark, write } from "../standardStreams.ts"
import { shownBytes } from "../table.ts"

/** Returns the ended operation. It waits for a slow reader, and reports output that the service dropped meanwhile. */
export const passOn = async (operation: Operation, options: FollowOptions = {}): Promise<OperationRecord> => {
  const output = operation.output(options)
  let missing = 0
  let next = await output.next()
  try {
    for (; next.done !== true; next = await output.next()) {
      const { stream, bytes, missingBytes } = next.value
      if (missingBytes > 0 && missing === 0)
        remark(`Some of ${stream} is missing: the service keeps only the end of what is written.`)
      missing += missingBytes
      await write(process[stream], bytes)
    }
  } finally {
    await output.return(undefined as never)
  }
  if (missing > 0) remark(`${shownBytes(missing)} of its output are missing.`)
  return next.value
}
