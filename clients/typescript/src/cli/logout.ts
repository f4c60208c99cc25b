/** `atoll logout` */
import { command } from "./Command.ts"
import { connect } from "./connection.ts"
import { credentialsPath, forgetCredentials, storedCredentials } from "./credentials.ts"
import { exitCodes } from "./failure.ts"
import { answer, remark } from "./output.ts"

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
      if (stored !== null) await connect(stored, 3).api.call("revokeKey")
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
