/** The session with the agent that listens on a unix socket; each tunnelled connection has its own socket. */
import { type AgentSession, makeAgentSession } from "../../runtime/agentClient/AgentSession.ts"
import { connectUnix } from "../linux/unixSocket.ts"

/** @param path The socket's, which may move. */
export const unixAgent = (path: () => string): AgentSession =>
  makeAgentSession({
    connect: () => connectUnix(path()),
    connectPlain: (onread) => connectUnix(path(), onread)
  })
