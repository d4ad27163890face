/**
 * The contracts of TCP connections.
 *
 * @module
 */
import type { Endpoint } from "../core/address.ts";
import type { SendGate } from "./send_gate.ts";

/**
 * Why a connection did not open: the peer refused it, no route leads to the peer, the attempt timed
 * out or was cancelled, or the system has no free descriptor or port.
 */
export type ConnectFailure = "refused" | "unreachable" | "timeout" | "cancelled" | "exhausted";

/**
 * Why an open connection ended: the peer closed or reset it, or the peer's system acknowledged nothing in
 * time (`"slow"`).
 */
export type ConnectionEnd = "closed" | "reset" | "slow";

/**
 * Why a connection was not encrypted: it ended without any byte of the peer, or the peer sent an alert or
 * something else that completes no TLS handshake (`"noTls"`).
 */
export type TlsFailure = ConnectionEnd | "noTls";

/**
 * Why a stream ended: it never opened, it was not encrypted, the peer closed or reset it, the peer was
 * too slow, or it sent too many bytes.
 */
export type StreamEnd = ConnectFailure | TlsFailure | "flood";

/** An open TCP connection. */
export interface Stream extends Disposable {
  /**
   * The next bytes, as a copy, or how the stream ended. It never throws for what a peer does. Only
   * one call may be pending; disposing of the stream ends it.
   */
  read(): Promise<Uint8Array | ConnectionEnd>;
  /** Writes all bytes; false when the connection is closed. */
  write(bytes: Uint8Array): Promise<boolean>;
}

/** A connection after its TLS handshake. */
export interface EncryptedStream {
  /** Its decrypted bytes. Disposing of it also disposes of the connection below. */
  readonly stream: Stream;
  /** The SHA-256 of the peer's certificate in DER: 64 hexadecimal digits, lower case. */
  readonly certificate: string;
}

/** Gets the error with which the system ends an attempt to connect. */
export interface ConnectError {
  /** The error code. */
  code?: string | undefined;
}

/** Opens TCP connections to servers. */
export interface Dialer {
  /** Number of connections that failed or broke, by error code. */
  readonly errors: ReadonlyMap<string, number>;
  /**
   * Connects.
   *
   * @param signal Cancels the attempt: the result is `"cancelled"`.
   * @param gate Is tested immediately before the system call. Default: nothing is kept back.
   * @param error Gets the error code if the system ends the attempt; it is not counted in `errors` then.
   * Default: the code is counted.
   * @returns The connection, or why it failed; `"kept back"`: the gate was closed. It never throws for
   * what a peer does.
   * @throws Deno.errors.NotCapable.
   */
  connect(
    to: Endpoint,
    signal: AbortSignal,
    gate?: SendGate,
    error?: ConnectError,
  ): Promise<Stream | ConnectFailure | "kept back">;
  /**
   * Resolves when all earlier calls of `connect` have made their system call, and those have settled
   * that the gate kept back or that the system refused at once. Default: this takes one microtask.
   */
  whenBegun?(): Promise<void>;
  /**
   * Makes a TLS handshake over an open connection: TLS 1.2 or 1.3, for HTTP/1.1. The certificate is not
   * verified. The handshake has no time limit; disposing of the connection ends it.
   *
   * @param stream The connection. No other caller may read or write it any more.
   * @param serverName The name to send (SNI). Default: none.
   * @returns The encrypted connection, or why there is none. It never throws for what a peer does.
   */
  encrypt(stream: Stream, serverName?: string): Promise<EncryptedStream | TlsFailure>;
}
