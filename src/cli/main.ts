/** The operator's command line from its sources. `npm run atoll` is `atoll.mjs`. */
import { start } from "./OperatorProgram.ts"

start()
