/** The golden messages of Query. */
import { type Golden, golden } from "./golden.ts";
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
import fullHeader00Hex from "./query/full-header-00.hex" with { type: "text" };
import fullHeader00 from "./query/full-header-00.json" with { type: "json" };
import fullHeader81Hex from "./query/full-header-81.hex" with { type: "text" };
import fullHeader81 from "./query/full-header-81.json" with { type: "json" };
import fullHeaderFfHex from "./query/full-header-ff.hex" with { type: "text" };
import fullHeaderFf from "./query/full-header-ff.json" with { type: "json" };
import fullHeader8001Hex from "./query/full-header-80-01.hex" with { type: "text" };
import fullHeader8001 from "./query/full-header-80-01.json" with { type: "json" };
import fullHeaderZerosHex from "./query/full-header-zeros.hex" with { type: "text" };
import fullHeaderZeros from "./query/full-header-zeros.json" with { type: "json" };
import statOfNoFormHex from "./query/stat-of-no-form.hex" with { type: "text" };
import statOfNoForm from "./query/stat-of-no-form.json" with { type: "json" };

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
  golden("full-header-00", fullHeader00Hex, fullHeader00),
  golden("full-header-81", fullHeader81Hex, fullHeader81),
  golden("full-header-ff", fullHeaderFfHex, fullHeaderFf),
  golden("full-header-80-01", fullHeader8001Hex, fullHeader8001),
  golden("full-header-zeros", fullHeaderZerosHex, fullHeaderZeros),
  golden("stat-of-no-form", statOfNoFormHex, statOfNoForm),
];
