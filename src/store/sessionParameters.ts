/**
 * Session settings with which the server ends a session soon after its process is gone: its locks block all others.
 *
 * A process that ends closes its connections. A frozen process, or a machine without power, sends nothing: by default a server waits two hours
 * before it probes the peer. For a socket file the server ignores the network settings.
 *
 * `client_connection_check_interval` is not used: some servers refuse any value but 0, and with it the connection. The server checks nothing
 * during a statement, so such a session ends by these settings as soon as the statement has ended.
 *
 * @source PostgreSQL "Connections and Authentication" (tcp_keepalives_idle, tcp_user_timeout), "Statement Behavior"
 */
type Parameters = Readonly<Record<string, string>>

/** Detects a lost machine within 25 s, and then frees advisory locks and the locks of idle transactions. */
export const noticingDeath: Parameters = {
  tcp_keepalives_idle: "10",
  tcp_keepalives_interval: "5",
  tcp_keepalives_count: "3"
}

const unsentMaxMs = 25_000

/** For sessions with brief transactions whose answers are read as they arrive. */
export const briefTransactions = (idleMs: number): Parameters => ({
  ...noticingDeath,
  tcp_user_timeout: String(unsentMaxMs),
  idle_in_transaction_session_timeout: String(idleMs)
})
