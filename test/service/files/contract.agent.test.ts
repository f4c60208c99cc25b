import { fileContract } from "../../support/files/fileContract.ts"
import { agentRuntime } from "../../support/files/TestService.ts"

fileContract("a real agent beside a simulated machine", agentRuntime)
