import "./shared.ts"
import { render } from "preact"
import { Console } from "./Console.tsx"
import { recognise } from "./session.ts"

void recognise()
render(<Console />, document.getElementById("console")!)
