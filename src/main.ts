/** Starts the program for ATOLL_ROLE. A host loads nothing of the service: no database, no actors, no API. */
import { keepCompiled } from "./platform/compileCache/keepCompiled.ts"

keepCompiled()
const { start } =
  process.env["ATOLL_ROLE"] === "host" ? await import("./app/HostProgram.ts") : await import("./app/ServiceProgram.ts")
start()
