/**
 * Converts the status of a RakNet server into columns, flags and facts.
 *
 * @module
 */
import type { ServerRecord } from "../../core/record.ts";
import { decodeLatin1, harmlessText } from "../../core/text.ts";
import { nameColumns } from "../name_columns.ts";
import type { Statement } from "../protocol.ts";
import type { BedrockStatus } from "./advertisement.ts";
import type { RaknetStatus } from "./pong_status.ts";

/** Converts a status into columns, flags and facts. */
export function raknetStatement(status: RaknetStatus): Statement {
  return status.kind === "pong" ? pongStatement(status) : refusalStatement(status);
}

function pongStatement(
  { pong, bedrock, echoed }: Extract<RaknetStatus, { kind: "pong" }>,
): Statement {
  const flags = [...pong.flags, ...(bedrock?.flags ?? []), ...(echoed ? [] : ["timeNotEchoed"])];
  if (bedrock !== undefined && bedrock.unnamed.length > MAX_UNNAMED) flags.push("factsCut");
  const guid = pong.guid.toString();
  if (bedrock !== undefined) {
    return {
      columns: { guid, ...bedrockColumns(bedrock) },
      flags,
      facts: bedrockFacts(bedrock),
      ...(bedrock.motdSent !== undefined && { motdSent: bedrock.motdSent }),
    };
  }
  if (pong.text === undefined || pong.text.length === 0) {
    return { columns: { guid }, flags, facts: {} };
  }
  const payload = harmlessText(decodeLatin1(pong.text.subarray(0, 200)));
  return { columns: { guid }, flags: [...flags, "otherGame"], facts: { payload } };
}

/**
 * Maximum number of fields without an agreed meaning in the facts; no software sends more than
 * five.
 */
const MAX_UNNAMED = 16;

const EDITION_NAMES = { MCPE: "bedrock", MCEE: "education", MCCPP: "pocket" } as const;

function bedrockColumns(status: BedrockStatus): Partial<ServerRecord> {
  // PocketMine-MP writes its own name in place of the level's, and nine fields.
  const software = status.level === "PocketMine-MP" && status.fieldCount === 9
    ? status.level
    : null;
  return {
    edition: EDITION_NAMES[status.edition],
    software,
    ...nameColumns(status.motd),
    version: status.version,
    protocol_version: status.protocol,
    map: software === null ? status.level : null,
    gamemode: status.gamemode,
    players_online: status.online,
    players_max: status.max,
    port_v4: status.portV4,
    port_v6: status.portV6,
  };
}

function bedrockFacts(status: BedrockStatus): Statement["facts"] {
  return {
    server_id: status.serverId,
    level: status.level,
    field_count: status.fieldCount,
    terminated: status.terminated,
    unnamed: status.unnamed.slice(0, MAX_UNNAMED),
  };
}

function refusalStatement({ refusal }: Extract<RaknetStatus, { kind: "refusal" }>): Statement {
  return {
    columns: { guid: refusal.guid.toString(), raknet_protocol: refusal.protocol ?? null },
    flags: ["refused"],
    facts: { refusal: refusal.reason },
  };
}
