/** `npm run atoll`: the command line (`dispatch.ts`), once Node keeps what it compiles. */
import "../platform/compileCache/enabled.mjs"

await import("./dispatch.ts")
