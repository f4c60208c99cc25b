/** Public-key authentication of SSH, by the keys of connection grants. @source RFC 4252 section 7 */
import type { Effect } from "effect"
import ssh2, { type AuthContext } from "ssh2"
import type { LiveConnections } from "../gateway/LiveConnections.ts"
import type { ConnectionGrants, SshAdmission } from "./ConnectionGrants.ts"

interface Authority {
  readonly grants: ConnectionGrants["Service"]
  readonly connections: LiveConnections["Service"]
  readonly run: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>
}

/** Answers one authentication attempt. `letIn` is called before the answer, with which the connection is ready. */
export const authenticate = async (
  { grants, connections, run }: Authority,
  context: AuthContext,
  letIn: (admission: SshAdmission) => void
): Promise<void> => {
  if (context.method !== "publickey") {
    context.reject(["publickey"])
    return
  }
  const known = await run(grants.keyFor(context.username, context.key.data))
  if (known === null) {
    context.reject(["publickey"])
    return
  }
  // Without a signature the client only asks whether this key would be accepted.
  if (context.signature === undefined || context.blob === undefined) {
    context.accept()
    return
  }
  const key = ssh2.utils.parseKey(known)
  const isRight = !(key instanceof Error) && key.verify(context.blob, context.signature, context.hashAlgo) === true
  const admission = isRight ? await run(grants.connect(context.username)) : null
  if (admission === null) {
    context.reject(["publickey"])
    return
  }
  // A client opens its session immediately, and the session handler is attached once the connection has its place. So no statement may be awaited
  // in between.
  const gathering = connections.gather(admission)
  if (gathering !== null) await run(gathering)
  letIn(admission)
  context.accept()
}
