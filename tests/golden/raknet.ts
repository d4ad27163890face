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
import r18Hex from "./raknet/r18-open-request-1.hex" with { type: "text" };
import r18 from "./raknet/r18-open-request-1.json" with { type: "json" };
import r19Hex from "./raknet/r19-open-reply-1.hex" with { type: "text" };
import r19 from "./raknet/r19-open-reply-1.json" with { type: "json" };
import r20Hex from "./raknet/r20-open-reply-1-cookie.hex" with { type: "text" };
import r20 from "./raknet/r20-open-reply-1-cookie.json" with { type: "json" };
import r21Hex from "./raknet/r21-open-request-2.hex" with { type: "text" };
import r21 from "./raknet/r21-open-request-2.json" with { type: "json" };
import r22Hex from "./raknet/r22-open-request-2-cookie.hex" with { type: "text" };
import r22 from "./raknet/r22-open-request-2-cookie.json" with { type: "json" };
import r23Hex from "./raknet/r23-open-reply-2.hex" with { type: "text" };
import r23 from "./raknet/r23-open-reply-2.json" with { type: "json" };
import r24Hex from "./raknet/r24-open-reply-2-ipv6.hex" with { type: "text" };
import r24 from "./raknet/r24-open-reply-2-ipv6.json" with { type: "json" };
import r25Hex from "./raknet/r25-frame-set-84.hex" with { type: "text" };
import r25 from "./raknet/r25-frame-set-84.json" with { type: "json" };
import r26Hex from "./raknet/r26-ack-c0.hex" with { type: "text" };
import r26 from "./raknet/r26-ack-c0.json" with { type: "json" };
import r27Hex from "./raknet/r27-ack-ranges.hex" with { type: "text" };
import r27 from "./raknet/r27-ack-ranges.json" with { type: "json" };
import r28Hex from "./raknet/r28-nak.hex" with { type: "text" };
import r28 from "./raknet/r28-nak.json" with { type: "json" };
import m28Hex from "./raknet/m28-ack-range-backwards.hex" with { type: "text" };
import m28 from "./raknet/m28-ack-range-backwards.json" with { type: "json" };
import pocket201202PingHex from "./raknet/pocket-2012-02-ping.hex" with { type: "text" };
import pocket201202Ping from "./raknet/pocket-2012-02-ping.json" with { type: "json" };
import pocket201205OpenRequest11464Hex from "./raknet/pocket-2012-05-open-request-1-1464.hex" with {
  type: "text",
};
import pocket201205OpenRequest11464 from "./raknet/pocket-2012-05-open-request-1-1464.json" with {
  type: "json",
};
import pocket201205OpenRequest11172Hex from "./raknet/pocket-2012-05-open-request-1-1172.hex" with {
  type: "text",
};
import pocket201205OpenRequest11172 from "./raknet/pocket-2012-05-open-request-1-1172.json" with {
  type: "json",
};
import pocket201205OpenRequest1548Hex from "./raknet/pocket-2012-05-open-request-1-548.hex" with {
  type: "text",
};
import pocket201205OpenRequest1548 from "./raknet/pocket-2012-05-open-request-1-548.json" with {
  type: "json",
};
import pocket201206OpenReply1Hex from "./raknet/pocket-2012-06-open-reply-1.hex" with {
  type: "text",
};
import pocket201206OpenReply1 from "./raknet/pocket-2012-06-open-reply-1.json" with {
  type: "json",
};
import pocket201207OpenRequest2Hex from "./raknet/pocket-2012-07-open-request-2.hex" with {
  type: "text",
};
import pocket201207OpenRequest2 from "./raknet/pocket-2012-07-open-request-2.json" with {
  type: "json",
};
import pocket201208OpenReply2Hex from "./raknet/pocket-2012-08-open-reply-2.hex" with {
  type: "text",
};
import pocket201208OpenReply2 from "./raknet/pocket-2012-08-open-reply-2.json" with {
  type: "json",
};
import pocket20121cPongHex from "./raknet/pocket-2012-1c-pong.hex" with { type: "text" };
import pocket20121cPong from "./raknet/pocket-2012-1c-pong.json" with { type: "json" };
import pocket20121dPongHex from "./raknet/pocket-2012-1d-pong.hex" with { type: "text" };
import pocket20121dPong from "./raknet/pocket-2012-1d-pong.json" with { type: "json" };
import pocket201284UnknownHex from "./raknet/pocket-2012-84-unknown.hex" with { type: "text" };
import pocket201284Unknown from "./raknet/pocket-2012-84-unknown.json" with { type: "json" };
import pocket2012C0UnknownHex from "./raknet/pocket-2012-c0-unknown.hex" with { type: "text" };
import pocket2012C0Unknown from "./raknet/pocket-2012-c0-unknown.json" with { type: "json" };
import openReply1LibcatHex from "./raknet/open-reply-1-libcat.hex" with { type: "text" };
import openReply1Libcat from "./raknet/open-reply-1-libcat.json" with { type: "json" };
import openReply1FilterHex from "./raknet/open-reply-1-filter.hex" with { type: "text" };
import openReply1Filter from "./raknet/open-reply-1-filter.json" with { type: "json" };
import openRequest2Ipv6Hex from "./raknet/open-request-2-ipv6.hex" with { type: "text" };
import openRequest2Ipv6 from "./raknet/open-request-2-ipv6.json" with { type: "json" };
import connectedAcceptedHex from "./raknet/connected-accepted.hex" with { type: "text" };
import connectedAccepted from "./raknet/connected-accepted.json" with { type: "json" };
import connectedNewIncomingHex from "./raknet/connected-new-incoming.hex" with { type: "text" };
import connectedNewIncoming from "./raknet/connected-new-incoming.json" with { type: "json" };
import connectedRequestHex from "./raknet/connected-request.hex" with { type: "text" };
import connectedRequest from "./raknet/connected-request.json" with { type: "json" };
import connectedPingHex from "./raknet/connected-ping.hex" with { type: "text" };
import connectedPing from "./raknet/connected-ping.json" with { type: "json" };
import connectedPongHex from "./raknet/connected-pong.hex" with { type: "text" };
import connectedPong from "./raknet/connected-pong.json" with { type: "json" };
import connectedDisconnectHex from "./raknet/connected-disconnect.hex" with { type: "text" };
import connectedDisconnect from "./raknet/connected-disconnect.json" with { type: "json" };
import frameSetSplitHex from "./raknet/frame-set-split.hex" with { type: "text" };
import frameSetSplit from "./raknet/frame-set-split.json" with { type: "json" };
import frameSetSplitImpossibleHex from "./raknet/frame-set-split-impossible.hex" with {
  type: "text",
};
import frameSetSplitImpossible from "./raknet/frame-set-split-impossible.json" with {
  type: "json",
};
import ackManyHex from "./raknet/ack-many.hex" with { type: "text" };
import ackMany from "./raknet/ack-many.json" with { type: "json" };
import native06OpenReply1Hex from "./raknet/native-06-open-reply-1.hex" with { type: "text" };
import native06OpenReply1 from "./raknet/native-06-open-reply-1.json" with { type: "json" };
import native84ConnectionRequestHex from "./raknet/native-84-connection-request.hex" with {
  type: "text",
};
import native84ConnectionRequest from "./raknet/native-84-connection-request.json" with {
  type: "json",
};
import native84AcceptedHex from "./raknet/native-84-accepted.hex" with { type: "text" };
import native84Accepted from "./raknet/native-84-accepted.json" with { type: "json" };
import native84NewIncomingHex from "./raknet/native-84-new-incoming.hex" with { type: "text" };
import native84NewIncoming from "./raknet/native-84-new-incoming.json" with { type: "json" };
import nativeC0RangeHex from "./raknet/native-c0-range.hex" with { type: "text" };
import nativeC0Range from "./raknet/native-c0-range.json" with { type: "json" };
import nativeAcceptedHex from "./raknet/native-accepted.hex" with { type: "text" };
import nativeAccepted from "./raknet/native-accepted.json" with { type: "json" };
import pongLevelSemicolonHex from "./raknet/pong-level-semicolon.hex" with { type: "text" };
import pongLevelSemicolon from "./raknet/pong-level-semicolon.json" with { type: "json" };
import pongLevelSemicolonWaterdogHex from "./raknet/pong-level-semicolon-waterdog.hex" with {
  type: "text",
};
import pongLevelSemicolonWaterdog from "./raknet/pong-level-semicolon-waterdog.json" with {
  type: "json",
};
import pongModeUnknownHex from "./raknet/pong-mode-unknown.hex" with { type: "text" };
import pongModeUnknown from "./raknet/pong-mode-unknown.json" with { type: "json" };
import pongTwoReadingsHex from "./raknet/pong-two-readings.hex" with { type: "text" };
import pongTwoReadings from "./raknet/pong-two-readings.json" with { type: "json" };
import pongGuidZeroHex from "./raknet/pong-guid-zero.hex" with { type: "text" };
import pongGuidZero from "./raknet/pong-guid-zero.json" with { type: "json" };
import pongModeMissingHex from "./raknet/pong-mode-missing.hex" with { type: "text" };
import pongModeMissing from "./raknet/pong-mode-missing.json" with { type: "json" };
import pongModeAmbiguousHex from "./raknet/pong-mode-ambiguous.hex" with { type: "text" };
import pongModeAmbiguous from "./raknet/pong-mode-ambiguous.json" with { type: "json" };
import pongModeNumberHex from "./raknet/pong-mode-number.hex" with { type: "text" };
import pongModeNumber from "./raknet/pong-mode-number.json" with { type: "json" };
import pongLevelBackslashHex from "./raknet/pong-level-backslash.hex" with { type: "text" };
import pongLevelBackslash from "./raknet/pong-level-backslash.json" with { type: "json" };

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
  golden("r18-open-request-1", r18Hex, r18),
  golden("r19-open-reply-1", r19Hex, r19),
  golden("r20-open-reply-1-cookie", r20Hex, r20),
  golden("r21-open-request-2", r21Hex, r21),
  golden("r22-open-request-2-cookie", r22Hex, r22),
  golden("r23-open-reply-2", r23Hex, r23),
  golden("r24-open-reply-2-ipv6", r24Hex, r24),
  golden("r25-frame-set-84", r25Hex, r25),
  golden("r26-ack-c0", r26Hex, r26),
  golden("r27-ack-ranges", r27Hex, r27),
  golden("r28-nak", r28Hex, r28),
  golden("m28-ack-range-backwards", m28Hex, m28),
  golden("pocket-2012-02-ping", pocket201202PingHex, pocket201202Ping),
  golden(
    "pocket-2012-05-open-request-1-1464",
    pocket201205OpenRequest11464Hex,
    pocket201205OpenRequest11464,
  ),
  golden(
    "pocket-2012-05-open-request-1-1172",
    pocket201205OpenRequest11172Hex,
    pocket201205OpenRequest11172,
  ),
  golden(
    "pocket-2012-05-open-request-1-548",
    pocket201205OpenRequest1548Hex,
    pocket201205OpenRequest1548,
  ),
  golden("pocket-2012-06-open-reply-1", pocket201206OpenReply1Hex, pocket201206OpenReply1),
  golden("pocket-2012-07-open-request-2", pocket201207OpenRequest2Hex, pocket201207OpenRequest2),
  golden("pocket-2012-08-open-reply-2", pocket201208OpenReply2Hex, pocket201208OpenReply2),
  golden("pocket-2012-1c-pong", pocket20121cPongHex, pocket20121cPong),
  golden("pocket-2012-1d-pong", pocket20121dPongHex, pocket20121dPong),
  golden("pocket-2012-84-unknown", pocket201284UnknownHex, pocket201284Unknown),
  golden("pocket-2012-c0-unknown", pocket2012C0UnknownHex, pocket2012C0Unknown),
  golden("open-reply-1-libcat", openReply1LibcatHex, openReply1Libcat),
  golden("open-reply-1-filter", openReply1FilterHex, openReply1Filter),
  golden("open-request-2-ipv6", openRequest2Ipv6Hex, openRequest2Ipv6),
  golden("connected-accepted", connectedAcceptedHex, connectedAccepted),
  golden("connected-new-incoming", connectedNewIncomingHex, connectedNewIncoming),
  golden("connected-request", connectedRequestHex, connectedRequest),
  golden("connected-ping", connectedPingHex, connectedPing),
  golden("connected-pong", connectedPongHex, connectedPong),
  golden("connected-disconnect", connectedDisconnectHex, connectedDisconnect),
  golden("frame-set-split", frameSetSplitHex, frameSetSplit),
  golden("frame-set-split-impossible", frameSetSplitImpossibleHex, frameSetSplitImpossible),
  golden("ack-many", ackManyHex, ackMany),
  golden("native-06-open-reply-1", native06OpenReply1Hex, native06OpenReply1),
  golden("native-84-connection-request", native84ConnectionRequestHex, native84ConnectionRequest),
  golden("native-84-accepted", native84AcceptedHex, native84Accepted),
  golden("native-84-new-incoming", native84NewIncomingHex, native84NewIncoming),
  golden("native-c0-range", nativeC0RangeHex, nativeC0Range),
  golden("native-accepted", nativeAcceptedHex, nativeAccepted),
  golden("pong-level-semicolon", pongLevelSemicolonHex, pongLevelSemicolon),
  golden(
    "pong-level-semicolon-waterdog",
    pongLevelSemicolonWaterdogHex,
    pongLevelSemicolonWaterdog,
  ),
  golden("pong-mode-unknown", pongModeUnknownHex, pongModeUnknown),
  golden("pong-two-readings", pongTwoReadingsHex, pongTwoReadings),
  golden("pong-guid-zero", pongGuidZeroHex, pongGuidZero),
  golden("pong-mode-missing", pongModeMissingHex, pongModeMissing),
  golden("pong-mode-ambiguous", pongModeAmbiguousHex, pongModeAmbiguous),
  golden("pong-mode-number", pongModeNumberHex, pongModeNumber),
  golden("pong-level-backslash", pongLevelBackslashHex, pongLevelBackslash),
];
