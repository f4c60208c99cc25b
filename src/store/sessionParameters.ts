/**
 * What the server is told when a session begins, so that it does not outlive whoever began it: what such a session has locked, nobody else can have.
 *
 * A process that ends closes its connections. One that froze, or whose machine lost its power, says nothing: without these a server waits two hours
 * before it asks whether anybody is there. Of a connection by a socket file the server leaves the network's aside.
 *
 * `client_connection_check_interval` is not among them: some servers refuse any but 0, and with it the connection. What waits in the middle of a
 * statement is asked nothing, so it ends by the rules below as soon as that statement has ended.
 *
 * @source PostgreSQL "Connections and Authentication" (tcp_keepalives_idle, tcp_user_timeout), "Statement Behavior"
 */
type Parameters = Readonly<Record<string, string>>

/** A machine that is gone is noticed within 25 s: advisory locks go, and the locks of what rests for long in a transaction. */
export const noticingDeath: Parameters = {
  tcp_keepalives_idle: "10",
  tcp_keepalives_interval: "5",
  tcp_keepalives_count: "3"
}

const unsentMaxMs = 25_000

/** Of sessions whose transactions are brief, and whose answers are read as they come. */
export const briefTransactions = (idleMs: number): Parameters => ({
  ...noticingDeath,
  tcp_user_timeout: String(unsentMaxMs),
  idle_in_transaction_session_timeout: String(idleMs)
})
