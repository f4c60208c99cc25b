/** `npm start`: `main.ts`, once Node keeps what it compiles. */
import "./platform/compileCache/enabled.mjs"

await import("./main.ts")
