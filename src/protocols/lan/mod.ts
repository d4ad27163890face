/**
 * Converts the messages of worlds on the local network into columns and facts of the record. These
 * messages serve only LAN discovery, not sweeps: Java worlds announce themselves, and NetherNet
 * worlds reply to broadcasts.
 *
 * @module
 */
import { decodeUtf8, plainText } from "../../core/text.ts";
import type { Statement } from "../protocol.ts";
import type { Announcement } from "./announcement.ts";
import type { ServerData, World } from "./nethernet_server_data.ts";

export * from "./announcement.ts";
export * from "./discovery_facts.ts";
export * from "./nethernet.ts";
export * from "./nethernet_server_data.ts";

/** Converts a Java world's announcement into a statement. */
export function announcementStatement({ motd, address, flags }: Announcement): Statement {
  const { text, badUtf8 } = decodeUtf8(motd ?? new Uint8Array());
  return {
    columns: { edition: "java", ...nameColumns(text) },
    flags: badUtf8 ? [...flags, "badUtf8"] : flags,
    facts: { address },
  };
}

/** The status of a world that replied to NetherNet discovery. */
export interface NetherNetStatus {
  /** The world's network id, 64 bits. */
  readonly networkId: bigint;
  /** The decoded server data; `undefined` when it is malformed. */
  readonly data: ServerData | undefined;
  /** Anomalies of the packet. */
  readonly flags: readonly string[];
}

/** Converts the status of a NetherNet world into a statement. */
export function nethernetStatement({ networkId, data, flags }: NetherNetStatus): Statement {
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

const GAMEMODES = ["Survival", "Creative", "Adventure"];

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
      gamemode: GAMEMODES[world.gamemode] ?? String(world.gamemode),
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

function nameColumns(motd: string): Statement["columns"] {
  const plain = plainText(motd) || null;
  return { name: plain, motd: motd || null, motd_plain: plain };
}
