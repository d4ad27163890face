/** The golden messages of RakNet. */
import { type Golden, golden } from "./golden.ts";
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
