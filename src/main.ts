/** Starts the program for ATOLL_ROLE. A host loads nothing of the service: no database, no actors, no API. */
const { start } =
  process.env["ATOLL_ROLE"] === "host" ? await import("./app/HostProgram.ts") : await import("./app/ServiceProgram.ts")
start()
