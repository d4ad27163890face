/** The golden messages of SQP. */
import { type Golden, golden } from "./golden.ts";
import q01Hex from "./sqp/q01-challenge-request.hex" with { type: "text" };
import q01 from "./sqp/q01-challenge-request.json" with { type: "json" };
import q02Hex from "./sqp/q02-challenge.hex" with { type: "text" };
import q02 from "./sqp/q02-challenge.json" with { type: "json" };
import q03Hex from "./sqp/q03-query.hex" with { type: "text" };
import q03 from "./sqp/q03-query.json" with { type: "json" };
import q04Hex from "./sqp/q04-server-info.hex" with { type: "text" };
import q04 from "./sqp/q04-server-info.json" with { type: "json" };
import q05Hex from "./sqp/q05-server-info-metrics.hex" with { type: "text" };
import q05 from "./sqp/q05-server-info-metrics.json" with { type: "json" };
import q06Hex from "./sqp/q06-server-rules.hex" with { type: "text" };
import q06 from "./sqp/q06-server-rules.json" with { type: "json" };
import q07Hex from "./sqp/q07-player-info.hex" with { type: "text" };
import q07 from "./sqp/q07-player-info.json" with { type: "json" };
import q08Hex from "./sqp/q08-player-info-empty.hex" with { type: "text" };
import q08 from "./sqp/q08-player-info-empty.json" with { type: "json" };
import m19Hex from "./sqp/m19-packet-length-too-large.hex" with { type: "text" };
import m19 from "./sqp/m19-packet-length-too-large.json" with { type: "json" };
import m20Hex from "./sqp/m20-string-past-chunk.hex" with { type: "text" };
import m20 from "./sqp/m20-string-past-chunk.json" with { type: "json" };
import m21Hex from "./sqp/m21-packet-behind-last.hex" with { type: "text" };
import m21 from "./sqp/m21-packet-behind-last.json" with { type: "json" };
import m22Hex from "./sqp/m22-too-many-metrics.hex" with { type: "text" };
import m22 from "./sqp/m22-too-many-metrics.json" with { type: "json" };
import seedServerInfoDumpHex from "./sqp/seed-server-info-dump.hex" with { type: "text" };
import seedServerInfoDump from "./sqp/seed-server-info-dump.json" with { type: "json" };
import challengeEchoHex from "./sqp/challenge-echo.hex" with { type: "text" };
import challengeEcho from "./sqp/challenge-echo.json" with { type: "json" };
import packetFirstOfTwoHex from "./sqp/packet-first-of-two.hex" with { type: "text" };
import packetFirstOfTwo from "./sqp/packet-first-of-two.json" with { type: "json" };
import packetVersion2Hex from "./sqp/packet-version-2.hex" with { type: "text" };
import packetVersion2 from "./sqp/packet-version-2.json" with { type: "json" };
import packet17Hex from "./sqp/packet-17.hex" with { type: "text" };
import packet17 from "./sqp/packet-17.json" with { type: "json" };
import serverInfoEmptyHex from "./sqp/server-info-empty.hex" with { type: "text" };
import serverInfoEmpty from "./sqp/server-info-empty.json" with { type: "json" };
import rulesUnsupportedHex from "./sqp/rules-unsupported.hex" with { type: "text" };
import rulesUnsupported from "./sqp/rules-unsupported.json" with { type: "json" };
import serverInfoSampleHex from "./sqp/server-info-sample.hex" with { type: "text" };
import serverInfoSample from "./sqp/server-info-sample.json" with { type: "json" };
import serverInfoFutureHex from "./sqp/server-info-future.hex" with { type: "text" };
import serverInfoFuture from "./sqp/server-info-future.json" with { type: "json" };
import serverInfoSurplusHex from "./sqp/server-info-surplus.hex" with { type: "text" };
import serverInfoSurplus from "./sqp/server-info-surplus.json" with { type: "json" };
import serverInfoBadUtf8Hex from "./sqp/server-info-bad-utf8.hex" with { type: "text" };
import serverInfoBadUtf8 from "./sqp/server-info-bad-utf8.json" with { type: "json" };
import serverInfoChunkTooLargeHex from "./sqp/server-info-chunk-too-large.hex" with {
  type: "text",
};
import serverInfoChunkTooLarge from "./sqp/server-info-chunk-too-large.json" with { type: "json" };
import rulesAllTypesHex from "./sqp/rules-all-types.hex" with { type: "text" };
import rulesAllTypes from "./sqp/rules-all-types.json" with { type: "json" };
import rulesTwiceHex from "./sqp/rules-twice.hex" with { type: "text" };
import rulesTwice from "./sqp/rules-twice.json" with { type: "json" };
import rulesUnknownTypeHex from "./sqp/rules-unknown-type.hex" with { type: "text" };
import rulesUnknownType from "./sqp/rules-unknown-type.json" with { type: "json" };
import teamInfoHex from "./sqp/team-info.hex" with { type: "text" };
import teamInfo from "./sqp/team-info.json" with { type: "json" };
import playerInfoManyTypesHex from "./sqp/player-info-many-types.hex" with { type: "text" };
import playerInfoManyTypes from "./sqp/player-info-many-types.json" with { type: "json" };
import playerInfoUnnamedHex from "./sqp/player-info-unnamed.hex" with { type: "text" };
import playerInfoUnnamed from "./sqp/player-info-unnamed.json" with { type: "json" };
import playerInfoNoFieldsHex from "./sqp/player-info-no-fields.hex" with { type: "text" };
import playerInfoNoFields from "./sqp/player-info-no-fields.json" with { type: "json" };
import playerInfoTooFewHex from "./sqp/player-info-too-few.hex" with { type: "text" };
import playerInfoTooFew from "./sqp/player-info-too-few.json" with { type: "json" };
import playerInfoIgnoredTailHex from "./sqp/player-info-ignored-tail.hex" with { type: "text" };
import playerInfoIgnoredTail from "./sqp/player-info-ignored-tail.json" with { type: "json" };
import metricsHex from "./sqp/metrics.hex" with { type: "text" };
import metrics from "./sqp/metrics.json" with { type: "json" };
import serverInfoVersion0Hex from "./sqp/server-info-version-0.hex" with { type: "text" };
import serverInfoVersion0 from "./sqp/server-info-version-0.json" with { type: "json" };
import serverInfoVersion2Hex from "./sqp/server-info-version-2.hex" with { type: "text" };
import serverInfoVersion2 from "./sqp/server-info-version-2.json" with { type: "json" };
import packetVersion65535Hex from "./sqp/packet-version-65535.hex" with { type: "text" };
import packetVersion65535 from "./sqp/packet-version-65535.json" with { type: "json" };
import packetLengthTooSmallHex from "./sqp/packet-length-too-small.hex" with { type: "text" };
import packetLengthTooSmall from "./sqp/packet-length-too-small.json" with { type: "json" };

export const SQP: readonly Golden[] = [
  golden("q01-challenge-request", q01Hex, q01),
  golden("q02-challenge", q02Hex, q02),
  golden("q03-query", q03Hex, q03),
  golden("q04-server-info", q04Hex, q04),
  golden("q05-server-info-metrics", q05Hex, q05),
  golden("q06-server-rules", q06Hex, q06),
  golden("q07-player-info", q07Hex, q07),
  golden("q08-player-info-empty", q08Hex, q08),
  golden("m19-packet-length-too-large", m19Hex, m19),
  golden("m20-string-past-chunk", m20Hex, m20),
  golden("m21-packet-behind-last", m21Hex, m21),
  golden("m22-too-many-metrics", m22Hex, m22),
  golden("seed-server-info-dump", seedServerInfoDumpHex, seedServerInfoDump),
  golden("challenge-echo", challengeEchoHex, challengeEcho),
  golden("packet-first-of-two", packetFirstOfTwoHex, packetFirstOfTwo),
  golden("packet-version-2", packetVersion2Hex, packetVersion2),
  golden("packet-17", packet17Hex, packet17),
  golden("server-info-empty", serverInfoEmptyHex, serverInfoEmpty),
  golden("rules-unsupported", rulesUnsupportedHex, rulesUnsupported),
  golden("server-info-sample", serverInfoSampleHex, serverInfoSample),
  golden("server-info-future", serverInfoFutureHex, serverInfoFuture),
  golden("server-info-surplus", serverInfoSurplusHex, serverInfoSurplus),
  golden("server-info-bad-utf8", serverInfoBadUtf8Hex, serverInfoBadUtf8),
  golden("server-info-chunk-too-large", serverInfoChunkTooLargeHex, serverInfoChunkTooLarge),
  golden("rules-all-types", rulesAllTypesHex, rulesAllTypes),
  golden("rules-twice", rulesTwiceHex, rulesTwice),
  golden("rules-unknown-type", rulesUnknownTypeHex, rulesUnknownType),
  golden("team-info", teamInfoHex, teamInfo),
  golden("player-info-many-types", playerInfoManyTypesHex, playerInfoManyTypes),
  golden("player-info-unnamed", playerInfoUnnamedHex, playerInfoUnnamed),
  golden("player-info-no-fields", playerInfoNoFieldsHex, playerInfoNoFields),
  golden("player-info-too-few", playerInfoTooFewHex, playerInfoTooFew),
  golden("player-info-ignored-tail", playerInfoIgnoredTailHex, playerInfoIgnoredTail),
  golden("metrics", metricsHex, metrics),
  golden("server-info-version-0", serverInfoVersion0Hex, serverInfoVersion0),
  golden("server-info-version-2", serverInfoVersion2Hex, serverInfoVersion2),
  golden("packet-version-65535", packetVersion65535Hex, packetVersion65535),
  golden("packet-length-too-small", packetLengthTooSmallHex, packetLengthTooSmall),
];
