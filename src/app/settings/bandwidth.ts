/**
 * A speed given in bits, as datagrams a second.
 *
 * @module
 */
import { family } from "../../core/address.ts";
import { PROTOCOLS } from "../../protocols/list.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { Targets } from "../../targets/compose.ts";

/** On Ethernet: the preamble before a frame, its header and checksum, and the gap behind it. */
const PREAMBLE = 8;
const HEADER = 14;
const CHECKSUM = 4;
const GAP = 12;
/** Minimum length; shorter frames are padded. */
const LEAST_FRAME = 64;
const IP: Readonly<Record<4 | 6, number>> = { 4: 20, 6: 40 };
const UDP = 8;
/** What opens a connection has no payload, but a longer header: with the options of Linux. */
const SYN = 40 - UDP;

/** What a datagram takes on Ethernet, bytes. */
export function wireSize(payload: number, bits: 4 | 6): number {
  const frame = HEADER + IP[bits] + UDP + payload + CHECKSUM;
  return PREAMBLE + Math.max(LEAST_FRAME, frame) + GAP;
}

/**
 * How many datagrams a second a bandwidth is for: so many as there may be of the largest probe that
 * is sent.
 *
 * @param bandwidth Bits a second.
 * @param allProtocols Every protocol: some is probed for the sake of another.
 */
export function rateOf(
  bandwidth: number,
  protocols: readonly Protocol[],
  { groups }: Targets,
  allProtocols: readonly Protocol[] = PROTOCOLS,
): number {
  const asked = protocols.flatMap(({ name, suppressedBy }) => [name, suppressedBy]);
  const payloads = allProtocols.filter(({ name }) => asked.includes(name))
    .map(({ probe }) => probe?.template.length ?? SYN);
  const sizes = groups.flatMap(({ addresses: [{ start }] }) =>
    payloads.map((payload) => wireSize(payload, family(start)))
  );
  return bandwidth / (8 * Math.max(...sizes));
}
