/** `atoll logout` */

import { AtollError } from "../errors.ts"
import { command } from "./Command.ts"
import { connect } from "./connection.ts"
import { type Credentials, credentialsPath, forgetCredentials, storedCredentials } from "./credentials.ts"
import { exitCodes } from "./failure.ts"
import { insist } from "./insist.ts"
import { answer, remark } from "./standardStreams.ts"

const patienceSeconds = 60

/** The service does not accept a key that was revoked before. */
const revoke = (stored: Credentials): Promise<void> =>
  insist(patienceSeconds, () => connect(stored).api.call("revokeKey")).catch((thrown: unknown) => {
    if (!(thrown instanceof AtollError) || !thrown.is("UNAUTHENTICATED")) throw thrown
  })

export const logout = command({
  name: "logout",
  summary: "Forget the stored API key",
  usage: "[--revoke]",
  options: {
    revoke: { type: "boolean", description: "Make it useless, too, wherever else it is stored" }
  },
  words: { least: 0, most: 0, completes: [] },
  examples: [
    ["logout", "Forget the key here"],
    ["logout --revoke", "So that nobody can use it any more"]
  ],
  run: async (given) => {
    const isRevoked = given.options.revoke === true
    if (isRevoked) {
      const stored = storedCredentials()
      if (stored !== null) await revoke(stored)
    }
    const wasThere = forgetCredentials()
    await answer(given, wasThere ? "Logged out." : "Nobody was logged in.", {
      path: credentialsPath(),
      wasStored: wasThere,
      isRevoked: wasThere && isRevoked
    })
    if (process.env["ATOLL_API_KEY"]) remark("ATOLL_API_KEY is set, and still counts.")
    return exitCodes.done
  }
})
