/** `npm start`: `main.ts`, once Node keeps what it compiles. */
import "./platform/compileCache/enabled.mjs"

// glibc has read what `npm start` set for this process. Postgres and all else that it starts have their own needs.
for (const name of Object.keys(process.env)) if (name.startsWith("MALLOC_")) delete process.env[name]

await import("./main.ts")
