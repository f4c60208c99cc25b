/** Starts the program for ATOLL_ROLE. A host loads nothing of the service: no database, no actors, no API. */
import { keepCompiled } from "./platform/compileCache/keepCompiled.ts"
import { quickProgram } from "./platform/quickStart/ProgramFiles.ts"

interface Program {
  readonly start: () => void
}

keepCompiled()
const isHost = process.env["ATOLL_ROLE"] === "host"
const ofSources = (): Promise<Program> => (isHost ? import("./app/HostProgram.ts") : import("./app/ServiceProgram.ts"))
const { start } = (await quickProgram<Program>(isHost ? "HostProgram" : "ServiceProgram")) ?? (await ofSources())
start()
