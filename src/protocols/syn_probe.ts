/**
 * The SYN packet of TCP, as Linux sends it. The reply repeats the sequence number, which is therefore
 * the token, and the time of the timestamp option (RFC 7323), which is the stamp.
 *
 *     0   2 source port  2 destination port  4 sequence number: the token  4 acknowledgement 0
 *     12  1 length 10 words  1 flags: SYN  2 window 64240  2 checksum  2 urgent pointer 0
 *     20  4 MSS 1460  2 SACK permitted  2+4+4 timestamps: the stamp, 0  1 no operation  3 window scale 7
 *
 * @module
 */
import type { Probe } from "./protocol.ts";

const HEADER = Uint8Array.fromHex(
  "00000000" + "00000000" + "00000000" + "a002faf0" + "00000000" +
    "020405b4" + "0402080a" + "00000000" + "00000000" + "01030307",
);

/** The probe of all protocols over TCP: ports, checksum, token and stamp are zero. */
export const SYN_PROBE: Probe<unknown> = {
  transport: "tcp",
  template: HEADER,
  tokenAt: 4,
  clockAt: 28,
  macMask: 0xffffffff,
  mayLackToken: false,
  // Sockets of ports deliver replies to them with the token: see net/port_socket.ts.
  read: () => undefined,
};
