/**
 * Converts the replies of worlds to LAN discovery into columns and facts of the record, which are
 * those of a status over HTTP.
 *
 * @module
 */
import { decodeUtf8 } from "../../core/text.ts";
import { nameColumns } from "../name_columns.ts";
import type { Statement } from "../protocol.ts";
import { gamemodeName } from "./columns.ts";
import type { ServerData, World } from "./discovery_server_data.ts";

/** A world that replied to discovery. */
export interface DiscoveredWorld {
  /** The world's network id, 64 bits. */
  readonly networkId: bigint;
  /** The decoded server data; `undefined` when it is malformed. */
  readonly data: ServerData | undefined;
  /** Anomalies of the packet. */
  readonly flags: readonly string[];
}

/** Converts the reply of a world to discovery into a statement. */
export function discoveryStatement({ networkId, data, flags }: DiscoveredWorld): Statement {
  const network_id = networkId.toString();
  if (data === undefined) {
    return {
      columns: { edition: "bedrock" },
      flags: [...flags, "statusMalformed"],
      facts: { network_id },
    };
  }
  const all = [...new Set([...flags, ...data.flags])];
  const facts = { network_id, data_version: data.version };
  if ("data" in data) return { columns: { edition: "bedrock" }, flags: all, facts };
  return worldStatement(data, all, facts);
}

/** Greatest valid player count, as in the other protocols. */
const MAX_PLAYERS = 999_999_999;

function worldStatement(
  world: World,
  flags: readonly string[],
  facts: Statement["facts"],
): Statement {
  const texts = [world.name, world.level, world.gameVersion ?? new Uint8Array()].map(decodeUtf8);
  const [name, level, version] = texts;
  const count = (value: number) => value >= 0 && value <= MAX_PLAYERS ? value : null;
  const counts = { players_online: count(world.online), players_max: count(world.max) };
  const anomalies = [
    ...(texts.some(({ badUtf8 }) => badUtf8) ? ["badUtf8"] : []),
    ...(Object.values(counts).includes(null) ? ["badNumber"] : []),
  ];
  return {
    columns: {
      edition: "bedrock",
      ...nameColumns(name.text),
      version: version.text || null,
      protocol_version: world.protocol,
      map: level.text || null,
      gamemode: gamemodeName(world.gamemode),
      ...counts,
    },
    flags: [...flags, ...anomalies],
    facts: { ...facts, ...worldFacts(world) },
  };
}

function worldFacts(world: World): Statement["facts"] {
  return {
    editor: world.editor,
    hardcore: world.hardcore,
    online_auth: world.onlineAuth,
    self_signed_auth: world.selfSignedAuth,
    nonce: world.nonce && decodeUtf8(world.nonce).text,
    transport: world.transport,
    connection: world.connection,
  };
}
