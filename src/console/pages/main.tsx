import "./shared.ts"
import { render } from "preact"
import { Console } from "./Console.tsx"
import { path } from "./router.ts"
import { recognise } from "./session.ts"
import { lazy } from "./ui/Lazy.tsx"

/** There are no links between the two: neither page uses the other's session. */
const Operator = lazy("operator", async () => (await import("./operator/Operator.tsx")).Operator)
const isOperators = path.peek() === "/operator"

if (!isOperators) void recognise()
render(isOperators ? <Operator /> : <Console />, document.getElementById("console")!)
