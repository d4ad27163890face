/**
 * The ports that a scan probes where the user names none.
 *
 * @module
 */
import portsText from "../../data/ports.txt" with { type: "text" };
import type { Protocol, UsualPorts } from "./protocol.ts";

/** The value for a protocol without a usual port. Its users name ports themselves. */
export const NO_USUAL_PORTS: UsualPorts = { 4: [], 6: [] };

/** The ports that data/ports.txt lists for a protocol. */
export function listedPorts(protocol: string): UsualPorts {
  return parseUsualPorts(portsText, protocol);
}

/** Reads the ports of a protocol from a text in the format of data/ports.txt. */
export function parseUsualPorts(text: string, protocol: string): UsualPorts {
  const lines = text.split("\n").map((line) => line.replace(/#.*/, "").trim().split(/\s+/));
  const of = (name: string) => {
    const ports = lines.find(([first]) => first === name)?.[1].split(",").map(Number) ?? [];
    return [...new Set(ports)].sort((a, b) => a - b);
  };
  return { 4: of(protocol), 6: of(`${protocol}/6`) };
}

/** Whether a protocol has a usual port in any address family. */
export function hasUsualPort({ ports }: Protocol): boolean {
  return ports[4].length > 0 || ports[6].length > 0;
}

/** Looks up the usual ports of a protocol by name; an unknown name has none. */
export function usualPorts(
  protocols: readonly Protocol[],
): (protocol: string, family: 4 | 6) => readonly number[] {
  return (protocol, family) => protocols.find(({ name }) => name === protocol)?.ports[family] ?? [];
}
