/** The golden messages of Server List Ping. */
import { type Golden, golden } from "./golden.ts";
import s01Hex from "./slp/s01-status-request.hex" with { type: "text" };
import s01 from "./slp/s01-status-request.json" with { type: "json" };
import s02Hex from "./slp/s02-status.hex" with { type: "text" };
import s02 from "./slp/s02-status.json" with { type: "json" };
import s03Hex from "./slp/s03-ping.hex" with { type: "text" };
import s03 from "./slp/s03-ping.json" with { type: "json" };
import s04Hex from "./slp/s04-pong.hex" with { type: "text" };
import s04 from "./slp/s04-pong.json" with { type: "json" };
import s05Hex from "./slp/s05-legacy-ping-1-4.hex" with { type: "text" };
import s05 from "./slp/s05-legacy-ping-1-4.json" with { type: "json" };
import s06Hex from "./slp/s06-legacy-reply-1-4.hex" with { type: "text" };
import s06 from "./slp/s06-legacy-reply-1-4.json" with { type: "json" };
import s07Hex from "./slp/s07-legacy-reply-beta.hex" with { type: "text" };
import s07 from "./slp/s07-legacy-reply-beta.json" with { type: "json" };
import s08Hex from "./slp/s08-legacy-ping-1-6.hex" with { type: "text" };
import s08 from "./slp/s08-legacy-ping-1-6.json" with { type: "json" };
import s09Hex from "./slp/s09-status-vanilla-1-19-3.hex" with { type: "text" };
import s09 from "./slp/s09-status-vanilla-1-19-3.json" with { type: "json" };
import s10Hex from "./slp/s10-status-components.hex" with { type: "text" };
import s10 from "./slp/s10-status-components.json" with { type: "json" };
import s11Hex from "./slp/s11-status-translate.hex" with { type: "text" };
import s11 from "./slp/s11-status-translate.json" with { type: "json" };
import s12Hex from "./slp/s12-status-forge-1-12.hex" with { type: "text" };
import s12 from "./slp/s12-status-forge-1-12.json" with { type: "json" };
import s13Hex from "./slp/s13-status-forge-1-13.hex" with { type: "text" };
import s13 from "./slp/s13-status-forge-1-13.json" with { type: "json" };
import s14Hex from "./slp/s14-status-forge-packed.hex" with { type: "text" };
import s14 from "./slp/s14-status-forge-packed.json" with { type: "json" };
import s15Hex from "./slp/s15-status-neoforge.hex" with { type: "text" };
import s15 from "./slp/s15-status-neoforge.json" with { type: "json" };
import s16Hex from "./slp/s16-status-more.hex" with { type: "text" };
import s16 from "./slp/s16-status-more.json" with { type: "json" };
import s17Hex from "./slp/s17-status-odd-numbers.hex" with { type: "text" };
import s17 from "./slp/s17-status-odd-numbers.json" with { type: "json" };
import s18Hex from "./slp/s18-status-raw-newline.hex" with { type: "text" };
import s18 from "./slp/s18-status-raw-newline.json" with { type: "json" };
import s19Hex from "./slp/s19-status-prototype-keys.hex" with { type: "text" };
import s19 from "./slp/s19-status-prototype-keys.json" with { type: "json" };
import s20Hex from "./slp/s20-legacy-reply-beta-signs.hex" with { type: "text" };
import s20 from "./slp/s20-legacy-reply-beta-signs.json" with { type: "json" };
import s21Hex from "./slp/s21-legacy-kick.hex" with { type: "text" };
import s21 from "./slp/s21-legacy-kick.json" with { type: "json" };
import s22Hex from "./slp/s22-legacy-reply-proxy.hex" with { type: "text" };
import s22 from "./slp/s22-legacy-reply-proxy.json" with { type: "json" };
import s23Hex from "./slp/s23-login-handshake.hex" with { type: "text" };
import s23 from "./slp/s23-login-handshake.json" with { type: "json" };
import s24Hex from "./slp/s24-other-packet.hex" with { type: "text" };
import s24 from "./slp/s24-other-packet.json" with { type: "json" };
import s25Hex from "./slp/s25-status-in-place-of-pong.hex" with { type: "text" };
import s25 from "./slp/s25-status-in-place-of-pong.json" with { type: "json" };
import s26Hex from "./slp/s26-status-text-beyond-frame.hex" with { type: "text" };
import s26 from "./slp/s26-status-text-beyond-frame.json" with { type: "json" };
import m23Hex from "./slp/m23-length-of-six-bytes.hex" with { type: "text" };
import m23 from "./slp/m23-length-of-six-bytes.json" with { type: "json" };
import m24Hex from "./slp/m24-disconnect.hex" with { type: "text" };
import m24 from "./slp/m24-disconnect.json" with { type: "json" };
import m25Hex from "./slp/m25-legacy-length-counts-bytes.hex" with { type: "text" };
import m25 from "./slp/m25-legacy-length-counts-bytes.json" with { type: "json" };
import legacyCutInLastNumberHex from "./slp/legacy-cut-in-last-number.hex" with { type: "text" };
import legacyCutInLastNumber from "./slp/legacy-cut-in-last-number.json" with { type: "json" };
import legacyCutInVersionHex from "./slp/legacy-cut-in-version.hex" with { type: "text" };
import legacyCutInVersion from "./slp/legacy-cut-in-version.json" with { type: "json" };
import legacyBetaCutHex from "./slp/legacy-beta-cut.hex" with { type: "text" };
import legacyBetaCut from "./slp/legacy-beta-cut.json" with { type: "json" };
import legacyLengthInBytesHex from "./slp/legacy-length-in-bytes.hex" with { type: "text" };
import legacyLengthInBytes from "./slp/legacy-length-in-bytes.json" with { type: "json" };
import legacyKickOf300Hex from "./slp/legacy-kick-of-300.hex" with { type: "text" };
import legacyKickOf300 from "./slp/legacy-kick-of-300.json" with { type: "json" };
import statusBomHex from "./slp/status-bom.hex" with { type: "text" };
import statusBom from "./slp/status-bom.json" with { type: "json" };
import statusDeepHex from "./slp/status-deep.hex" with { type: "text" };
import statusDeep from "./slp/status-deep.json" with { type: "json" };
import statusBareironHex from "./slp/status-bareiron.hex" with { type: "text" };
import statusBareiron from "./slp/status-bareiron.json" with { type: "json" };
import legacyHalfPairHex from "./slp/legacy-half-pair.hex" with { type: "text" };
import legacyHalfPair from "./slp/legacy-half-pair.json" with { type: "json" };
import legacyNulAtEndHex from "./slp/legacy-nul-at-end.hex" with { type: "text" };
import legacyNulAtEnd from "./slp/legacy-nul-at-end.json" with { type: "json" };
import legacyNulInMotdNoMaxHex from "./slp/legacy-nul-in-motd-no-max.hex" with { type: "text" };
import legacyNulInMotdNoMax from "./slp/legacy-nul-in-motd-no-max.json" with { type: "json" };

export const SLP: readonly Golden[] = [
  golden("s01-status-request", s01Hex, s01),
  golden("s02-status", s02Hex, s02),
  golden("s03-ping", s03Hex, s03),
  golden("s04-pong", s04Hex, s04),
  golden("s05-legacy-ping-1-4", s05Hex, s05),
  golden("s06-legacy-reply-1-4", s06Hex, s06),
  golden("s07-legacy-reply-beta", s07Hex, s07),
  golden("s08-legacy-ping-1-6", s08Hex, s08),
  golden("s09-status-vanilla-1-19-3", s09Hex, s09),
  golden("s10-status-components", s10Hex, s10),
  golden("s11-status-translate", s11Hex, s11),
  golden("s12-status-forge-1-12", s12Hex, s12),
  golden("s13-status-forge-1-13", s13Hex, s13),
  golden("s14-status-forge-packed", s14Hex, s14),
  golden("s15-status-neoforge", s15Hex, s15),
  golden("s16-status-more", s16Hex, s16),
  golden("s17-status-odd-numbers", s17Hex, s17),
  golden("s18-status-raw-newline", s18Hex, s18),
  golden("s19-status-prototype-keys", s19Hex, s19),
  golden("s20-legacy-reply-beta-signs", s20Hex, s20),
  golden("s21-legacy-kick", s21Hex, s21),
  golden("s22-legacy-reply-proxy", s22Hex, s22),
  golden("s23-login-handshake", s23Hex, s23),
  golden("s24-other-packet", s24Hex, s24),
  golden("s25-status-in-place-of-pong", s25Hex, s25),
  golden("s26-status-text-beyond-frame", s26Hex, s26),
  golden("m23-length-of-six-bytes", m23Hex, m23),
  golden("m24-disconnect", m24Hex, m24),
  golden("m25-legacy-length-counts-bytes", m25Hex, m25),
  golden("legacy-cut-in-last-number", legacyCutInLastNumberHex, legacyCutInLastNumber),
  golden("legacy-cut-in-version", legacyCutInVersionHex, legacyCutInVersion),
  golden("legacy-beta-cut", legacyBetaCutHex, legacyBetaCut),
  golden("legacy-length-in-bytes", legacyLengthInBytesHex, legacyLengthInBytes),
  golden("legacy-kick-of-300", legacyKickOf300Hex, legacyKickOf300),
  golden("status-bom", statusBomHex, statusBom),
  golden("status-deep", statusDeepHex, statusDeep),
  golden("status-bareiron", statusBareironHex, statusBareiron),
  golden("legacy-half-pair", legacyHalfPairHex, legacyHalfPair),
  golden("legacy-nul-at-end", legacyNulAtEndHex, legacyNulAtEnd),
  golden("legacy-nul-in-motd-no-max", legacyNulInMotdNoMaxHex, legacyNulInMotdNoMax),
];
