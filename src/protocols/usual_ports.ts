/**
 * The ports that a scan probes if the user names none.
 *
 * @module
 */
import type { Protocol, UsualPorts } from "./protocol.ts";

/** The value for a protocol without a usual port. Users have to name the ports. */
export const NO_USUAL_PORTS: UsualPorts = { 4: [], 6: [] };

/** The usual port of Java servers. The game sends it in requests to the target of an SRV record. */
export const GAME_PORT = 25565;

/** The usual port of Bedrock servers, over IPv4. */
export const BEDROCK_PORT = 19132;

/**
 * Whether the game looks up the SRV record of a name that the user gave with this port, or without
 * one: it treats the usual port as no port.
 */
export function mayHaveService(port: number | undefined): boolean {
  return port === undefined || port === GAME_PORT;
}

/** Whether a protocol has a usual port in any address family. */
export function hasUsualPort({ ports }: Protocol): boolean {
  return ports[4].length > 0 || ports[6].length > 0;
}

export function isUsualPort({ ports }: Protocol, port: number): boolean {
  return ports[4].includes(port) || ports[6].includes(port);
}

/**
 * Whether a protocol is used at a port only after the other protocols of its transport; see
 * `lastElsewhere`.
 */
export function isLastAt(protocol: Protocol, port: number): boolean {
  return protocol.lastElsewhere === true && !isUsualPort(protocol, port);
}

/** Looks up the usual ports of a protocol by name; an unknown name has none. */
export function usualPorts(
  protocols: readonly Protocol[],
): (protocol: string, family: 4 | 6) => readonly number[] {
  return (protocol, family) => protocols.find(({ name }) => name === protocol)?.ports[family] ?? [];
}
