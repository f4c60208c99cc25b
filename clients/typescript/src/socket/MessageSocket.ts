/** A WebSocket as terminals and tunnels use it, whatever carries it. */

export interface Handshake {
  /** http: or https:. Never with a secret in it. */
  readonly url: URL
  /** The subprotocol, which the service must take. */
  readonly protocol: string
  /** The API key, or a capability. */
  readonly secret: string
  readonly userAgent: string
  /** Sends the same request without a handshake, to learn why the handshake failed. */
  readonly ask: () => Promise<Response>
  /** Ends the handshake; what came of it is left alone. */
  readonly signal: AbortSignal
}

export interface SocketEnd {
  /** RFC 6455 section 7.4; null when the connection broke without any. */
  readonly code: number | null
  /** Empty where nobody gave any. */
  readonly reason: string
}

export interface SocketListener {
  /** Where one message ends and the next begins is not told. The bytes are the listener's. */
  readonly bytes: (bytes: Uint8Array) => void
  readonly text: (text: string) => void
  /** Once, and nothing after it. */
  readonly closed: (end: SocketEnd) => void
}

export interface MessageSocket {
  /** `taken`: there is room for more; never called once it is closed. */
  readonly send: (data: Uint8Array | string, taken?: () => void) => void
  /** Takes nothing from the service until `resume`: what it sends fills the connection then, and holds it back (in browsers: does nothing). */
  readonly pause: () => void
  readonly resume: () => void
  /** In order, as far as the other side answers. */
  readonly close: () => void
  /** At once. */
  readonly destroy: () => void
}

/** The service answered something else than the handshake. */
export class HandshakeRefused extends Error {
  override readonly name = "HandshakeRefused"
  readonly answer: Response

  constructor(answer: Response) {
    super(`The handshake was answered with ${answer.status}.`)
    this.answer = answer
  }
}
