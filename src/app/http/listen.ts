/**
 * Listens for connections.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { reason } from "../environment.ts";

/**
 * Listens on an address and a port.
 *
 * @param purpose What cannot be done if this fails, for the error: `serve metrics`.
 * @throws InputError when it cannot listen; Deno.errors.NotCapable.
 */
export function listenOn(purpose: string, hostname: string, port: number): Deno.TcpListener {
  try {
    return Deno.listen({ hostname, port });
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    throw new InputError(`Cannot ${purpose} on ${placeText(hostname, port)}: ${reason(error)}`);
  }
}

/** An address and a port as a URL contains them. */
export function placeText(hostname: string, port: number): string {
  return `${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
}
