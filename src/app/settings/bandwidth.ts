/**
 * Converts a bandwidth in bits per second into a rate in datagrams per second.
 *
 * @module
 */
import { family } from "../../core/address.ts";
import type { ProtocolSelection } from "../../protocols/list.ts";
import type { Targets } from "../../targets/compose.ts";

/** Sizes on Ethernet, bytes: preamble, header with checksum, and the gap after a frame. */
const PREAMBLE = 8;
const HEADER = 14;
const CHECKSUM = 4;
const GAP = 12;
/** Minimum length; shorter frames are padded. */
const LEAST_FRAME = 64;
const IP: Readonly<Record<4 | 6, number>> = { 4: 20, 6: 40 };
const UDP = 8;
/** A SYN segment has no payload, but a longer header, with the options of Linux. */
const SYN = 40 - UDP;

/** Size of a datagram on Ethernet, bytes. */
export function wireSize(payload: number, bits: 4 | 6): number {
  const frame = HEADER + IP[bits] + UDP + payload + CHECKSUM;
  return PREAMBLE + Math.max(LEAST_FRAME, frame) + GAP;
}

/**
 * The rate that a bandwidth allows: the number of the largest probes that may be sent per second.
 *
 * @param bandwidth Bits a second.
 */
export function rateOf(
  bandwidth: number,
  { groups }: Targets,
  { protocols, allProtocols }: ProtocolSelection,
): number {
  // Suppressors are probed too.
  const sent = protocols.flatMap(({ name, suppressedBy }) => [name, suppressedBy]);
  const payloads = allProtocols.filter(({ name }) => sent.includes(name))
    .map(({ probe }) => probe?.template.length ?? SYN);
  const sizes = groups.flatMap(({ addresses: [{ start }] }) =>
    payloads.map((payload) => wireSize(payload, family(start)))
  );
  return bandwidth / (8 * Math.max(...sizes));
}
