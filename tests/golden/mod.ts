/**
 * The golden messages: bytes as servers and clients send them, and beside each what they mean.
 *
 * A `.hex` file holds spaced bytes and `#` comments; the `.json` beside it the decoder, the value
 * that it yields (bytes as Latin-1 text, 64-bit integers as decimal text), whether that value is
 * written back to the same bytes, and what a record made of it says.
 */

import g01Hex from "./query/g01-handshake-request.hex" with { type: "text" };
import g01 from "./query/g01-handshake-request.json" with { type: "json" };
import g02Hex from "./query/g02-handshake-reply.hex" with { type: "text" };
import g02 from "./query/g02-handshake-reply.json" with { type: "json" };
import g03Hex from "./query/g03-handshake-reply-negative.hex" with { type: "text" };
import g03 from "./query/g03-handshake-reply-negative.json" with { type: "json" };
import g04Hex from "./query/g04-basic-request.hex" with { type: "text" };
import g04 from "./query/g04-basic-request.json" with { type: "json" };
import g05Hex from "./query/g05-full-request.hex" with { type: "text" };
import g05 from "./query/g05-full-request.json" with { type: "json" };
import g06Hex from "./query/g06-full-request-ut3-padding.hex" with { type: "text" };
import g06 from "./query/g06-full-request-ut3-padding.json" with { type: "json" };
import g07Hex from "./query/g07-full-request-nukkit.hex" with { type: "text" };
import g07 from "./query/g07-full-request-nukkit.json" with { type: "json" };
import g08Hex from "./query/g08-handshake-reply-nukkit-raw.hex" with { type: "text" };
import g08 from "./query/g08-handshake-reply-nukkit-raw.json" with { type: "json" };
import g09Hex from "./query/g09-handshake-reply-filled.hex" with { type: "text" };
import g09 from "./query/g09-handshake-reply-filled.json" with { type: "json" };
import g10Hex from "./query/g10-handshake-reply-mangled-session.hex" with { type: "text" };
import g10 from "./query/g10-handshake-reply-mangled-session.json" with { type: "json" };
import g11Hex from "./query/g11-basic-stat.hex" with { type: "text" };
import g11 from "./query/g11-basic-stat.json" with { type: "json" };
import g12Hex from "./query/g12-full-stat-vanilla.hex" with { type: "text" };
import g12 from "./query/g12-full-stat-vanilla.json" with { type: "json" };
import g13Hex from "./query/g13-full-stat-paper.hex" with { type: "text" };
import g13 from "./query/g13-full-stat-paper.json" with { type: "json" };
import g14Hex from "./query/g14-full-stat-pocketmine.hex" with { type: "text" };
import g14 from "./query/g14-full-stat-pocketmine.json" with { type: "json" };
import g15Hex from "./query/g15-full-stat-beta19pre4.hex" with { type: "text" };
import g15 from "./query/g15-full-stat-beta19pre4.json" with { type: "json" };
import g16Hex from "./query/g16-full-stat-geyser-2020.hex" with { type: "text" };
import g16 from "./query/g16-full-stat-geyser-2020.json" with { type: "json" };
import g17Hex from "./query/g17-full-stat-motd-nul.hex" with { type: "text" };
import g17 from "./query/g17-full-stat-motd-nul.json" with { type: "json" };
import g18Hex from "./query/g18-full-stat-velocity-empty.hex" with { type: "text" };
import g18 from "./query/g18-full-stat-velocity-empty.json" with { type: "json" };
import m01Hex from "./query/m01-short.hex" with { type: "text" };
import m01 from "./query/m01-short.json" with { type: "json" };
import m02Hex from "./query/m02-token-no-number.hex" with { type: "text" };
import m02 from "./query/m02-token-no-number.json" with { type: "json" };
import m03Hex from "./query/m03-token-out-of-range.hex" with { type: "text" };
import m03 from "./query/m03-token-out-of-range.json" with { type: "json" };
import m04Hex from "./query/m04-wrong-session.hex" with { type: "text" };
import m04 from "./query/m04-wrong-session.json" with { type: "json" };
import m05Hex from "./query/m05-token-unterminated.hex" with { type: "text" };
import m05 from "./query/m05-token-unterminated.json" with { type: "json" };
import m06Hex from "./query/m06-full-cut-in-value.hex" with { type: "text" };
import m06 from "./query/m06-full-cut-in-value.json" with { type: "json" };
import m07Hex from "./query/m07-full-without-players.hex" with { type: "text" };
import m07 from "./query/m07-full-without-players.json" with { type: "json" };
import m08Hex from "./query/m08-full-players-unterminated.hex" with { type: "text" };
import m08 from "./query/m08-full-players-unterminated.json" with { type: "json" };
import m09Hex from "./query/m09-full-injected-tail.hex" with { type: "text" };
import m09 from "./query/m09-full-injected-tail.json" with { type: "json" };
import m10Hex from "./query/m10-basic-cut.hex" with { type: "text" };
import m10 from "./query/m10-basic-cut.json" with { type: "json" };
import m11Hex from "./query/m11-full-bad-number.hex" with { type: "text" };
import m11 from "./query/m11-full-bad-number.json" with { type: "json" };
import r01Hex from "./raknet/r01-ping.hex" with { type: "text" };
import r01 from "./raknet/r01-ping.json" with { type: "json" };
import r02Hex from "./raknet/r02-ping-2012.hex" with { type: "text" };
import r02 from "./raknet/r02-ping-2012.json" with { type: "json" };
import r03Hex from "./raknet/r03-pong-bds.hex" with { type: "text" };
import r03 from "./raknet/r03-pong-bds.json" with { type: "json" };
import r04Hex from "./raknet/r04-pong-pocketmine.hex" with { type: "text" };
import r04 from "./raknet/r04-pong-pocketmine.json" with { type: "json" };
import r05Hex from "./raknet/r05-pong-pocket-2012.hex" with { type: "text" };
import r05 from "./raknet/r05-pong-pocket-2012.json" with { type: "json" };
import r06Hex from "./raknet/r06-pong-pocket-2012-hidden.hex" with { type: "text" };
import r06 from "./raknet/r06-pong-pocket-2012-hidden.json" with { type: "json" };
import r07Hex from "./raknet/r07-pong-empty.hex" with { type: "text" };
import r07 from "./raknet/r07-pong-empty.json" with { type: "json" };
import r08Hex from "./raknet/r08-pong-no-length.hex" with { type: "text" };
import r08 from "./raknet/r08-pong-no-length.json" with { type: "json" };
import r09Hex from "./raknet/r09-pong-education.hex" with { type: "text" };
import r09 from "./raknet/r09-pong-education.json" with { type: "json" };
import r10Hex from "./raknet/r10-pong-other-game.hex" with { type: "text" };
import r10 from "./raknet/r10-pong-other-game.json" with { type: "json" };
import r11Hex from "./raknet/r11-pong-dragonfly.hex" with { type: "text" };
import r11 from "./raknet/r11-pong-dragonfly.json" with { type: "json" };
import r12Hex from "./raknet/r12-pong-waterdog.hex" with { type: "text" };
import r12 from "./raknet/r12-pong-waterdog.json" with { type: "json" };
import r13Hex from "./raknet/r13-incompatible-protocol.hex" with { type: "text" };
import r13 from "./raknet/r13-incompatible-protocol.json" with { type: "json" };
import r14Hex from "./raknet/r14-already-connected.hex" with { type: "text" };
import r14 from "./raknet/r14-already-connected.json" with { type: "json" };
import r15Hex from "./raknet/r15-no-free-connections.hex" with { type: "text" };
import r15 from "./raknet/r15-no-free-connections.json" with { type: "json" };
import r16Hex from "./raknet/r16-banned.hex" with { type: "text" };
import r16 from "./raknet/r16-banned.json" with { type: "json" };
import r17Hex from "./raknet/r17-recently-connected.hex" with { type: "text" };
import r17 from "./raknet/r17-recently-connected.json" with { type: "json" };
import r29Hex from "./raknet/r29-advertise-system.hex" with { type: "text" };
import r29 from "./raknet/r29-advertise-system.json" with { type: "json" };
import m12Hex from "./raknet/m12-pong-wrong-magic.hex" with { type: "text" };
import m12 from "./raknet/m12-pong-wrong-magic.json" with { type: "json" };
import m13Hex from "./raknet/m13-pong-foreign-time.hex" with { type: "text" };
import m13 from "./raknet/m13-pong-foreign-time.json" with { type: "json" };
import m14Hex from "./raknet/m14-pong-length-too-large.hex" with { type: "text" };
import m14 from "./raknet/m14-pong-length-too-large.json" with { type: "json" };
import m15Hex from "./raknet/m15-pong-length-too-small.hex" with { type: "text" };
import m15 from "./raknet/m15-pong-length-too-small.json" with { type: "json" };
import m16Hex from "./raknet/m16-pong-cut-in-magic.hex" with { type: "text" };
import m16 from "./raknet/m16-pong-cut-in-magic.json" with { type: "json" };
import m17Hex from "./raknet/m17-pong-motd-semicolon.hex" with { type: "text" };
import m17 from "./raknet/m17-pong-motd-semicolon.json" with { type: "json" };
import m18Hex from "./raknet/m18-pong-bad-utf8.hex" with { type: "text" };
import m18 from "./raknet/m18-pong-bad-utf8.json" with { type: "json" };

/** What a golden message means. */
export interface Expected {
  /** Which decoder reads it. */
  readonly decoder: string;
  /** Who sends it. */
  readonly from: "client" | "server";
  /** What the decoder yields: a value, `null` for "another message", or the name of an error. */
  readonly value?: unknown;
  readonly throws?: string;
  /** Whether the value is written back to the same bytes. */
  readonly encodes: boolean;
  /** What a record made of it says: columns, flags and facts. */
  readonly statement?: unknown;
}

/** A golden message. */
export interface Golden extends Expected {
  readonly name: string;
  readonly bytes: Uint8Array;
}

function golden(name: string, hex: string, expected: unknown): Golden {
  const bytes = Uint8Array.fromHex(hex.replace(/#.*/g, "").replace(/\s/g, ""));
  return { name, bytes, ...expected as Expected };
}

/** The golden messages of Query. */
export const QUERY: readonly Golden[] = [
  golden("g01-handshake-request", g01Hex, g01),
  golden("g02-handshake-reply", g02Hex, g02),
  golden("g03-handshake-reply-negative", g03Hex, g03),
  golden("g04-basic-request", g04Hex, g04),
  golden("g05-full-request", g05Hex, g05),
  golden("g06-full-request-ut3-padding", g06Hex, g06),
  golden("g07-full-request-nukkit", g07Hex, g07),
  golden("g08-handshake-reply-nukkit-raw", g08Hex, g08),
  golden("g09-handshake-reply-filled", g09Hex, g09),
  golden("g10-handshake-reply-mangled-session", g10Hex, g10),
  golden("g11-basic-stat", g11Hex, g11),
  golden("g12-full-stat-vanilla", g12Hex, g12),
  golden("g13-full-stat-paper", g13Hex, g13),
  golden("g14-full-stat-pocketmine", g14Hex, g14),
  golden("g15-full-stat-beta19pre4", g15Hex, g15),
  golden("g16-full-stat-geyser-2020", g16Hex, g16),
  golden("g17-full-stat-motd-nul", g17Hex, g17),
  golden("g18-full-stat-velocity-empty", g18Hex, g18),
  golden("m01-short", m01Hex, m01),
  golden("m02-token-no-number", m02Hex, m02),
  golden("m03-token-out-of-range", m03Hex, m03),
  golden("m04-wrong-session", m04Hex, m04),
  golden("m05-token-unterminated", m05Hex, m05),
  golden("m06-full-cut-in-value", m06Hex, m06),
  golden("m07-full-without-players", m07Hex, m07),
  golden("m08-full-players-unterminated", m08Hex, m08),
  golden("m09-full-injected-tail", m09Hex, m09),
  golden("m10-basic-cut", m10Hex, m10),
  golden("m11-full-bad-number", m11Hex, m11),
];

/** The golden messages of RakNet. */
export const RAKNET: readonly Golden[] = [
  golden("r01-ping", r01Hex, r01),
  golden("r02-ping-2012", r02Hex, r02),
  golden("r03-pong-bds", r03Hex, r03),
  golden("r04-pong-pocketmine", r04Hex, r04),
  golden("r05-pong-pocket-2012", r05Hex, r05),
  golden("r06-pong-pocket-2012-hidden", r06Hex, r06),
  golden("r07-pong-empty", r07Hex, r07),
  golden("r08-pong-no-length", r08Hex, r08),
  golden("r09-pong-education", r09Hex, r09),
  golden("r10-pong-other-game", r10Hex, r10),
  golden("r11-pong-dragonfly", r11Hex, r11),
  golden("r12-pong-waterdog", r12Hex, r12),
  golden("r13-incompatible-protocol", r13Hex, r13),
  golden("r14-already-connected", r14Hex, r14),
  golden("r15-no-free-connections", r15Hex, r15),
  golden("r16-banned", r16Hex, r16),
  golden("r17-recently-connected", r17Hex, r17),
  golden("r29-advertise-system", r29Hex, r29),
  golden("m12-pong-wrong-magic", m12Hex, m12),
  golden("m13-pong-foreign-time", m13Hex, m13),
  golden("m14-pong-length-too-large", m14Hex, m14),
  golden("m15-pong-length-too-small", m15Hex, m15),
  golden("m16-pong-cut-in-magic", m16Hex, m16),
  golden("m17-pong-motd-semicolon", m17Hex, m17),
  golden("m18-pong-bad-utf8", m18Hex, m18),
];
