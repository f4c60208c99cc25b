import { fileContract } from "./fileContract.ts"
import { agentRuntime } from "./TestService.ts"

fileContract("a real agent beside a simulated machine", agentRuntime)
