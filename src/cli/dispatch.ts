/**
 * `npm run atoll`: the operator's command line, and the customer's for the service of this folder. Each is loaded only when it is used.
 *
 * The customer's commands use the key that `npm run up` stored in the data folder. ATOLL_API_KEY and ATOLL_URL take precedence.
 */
import { keepCompiled } from "../platform/compileCache/keepCompiled.ts"
import { quickProgram } from "../platform/quickStart/ProgramFiles.ts"
import { customersCommands } from "./customersCommands.ts"

keepCompiled()

if (customersCommands.has(process.argv[2] ?? "")) {
  const { localCredentialsPath } = await import("./localCredentials.ts")
  process.env["ATOLL_CREDENTIALS"] ??= await localCredentialsPath()
  // npm changes to the folder of package.json; relative paths are meant from where the command was typed.
  const typedIn = process.env["INIT_CWD"]
  if (typedIn !== undefined && process.env["npm_lifecycle_event"] === "atoll") process.chdir(typedIn)
  await import("../../clients/typescript/src/cli/main.ts")
} else {
  const { start } =
    (await quickProgram<typeof import("./OperatorProgram.ts")>("OperatorProgram")) ??
    (await import("./OperatorProgram.ts"))
  start()
}
