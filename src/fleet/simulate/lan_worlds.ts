/**
 * Worlds that show themselves on a local network alone: Java's "Open to LAN", and Bedrock's worlds
 * that answer NetherNet's discovery.
 *
 * @module
 */
import {
  encodeAnnouncement,
  encodeServerData,
  openPacket,
  sealPacket,
  type World,
} from "../../protocols/lan/mod.ts";
import type { Statement } from "../../protocols/protocol.ts";
import type { ServerIdentity } from "./server_identity.ts";

/** How a world announces itself, unasked. */
export interface AnnouncementStyle {
  /** The datagram. */
  readonly datagram: (identity: ServerIdentity, port: number) => Uint8Array;
  /** What a reader should make of it. */
  readonly truth: (identity: ServerIdentity, port: number) => Statement;
}

/** How a world answers NetherNet's discovery. */
export interface NetherNetStyle {
  /** The version of its server data. */
  readonly version: World["version"];
  /** What a reader should make of it. */
  readonly truth: (identity: ServerIdentity) => Statement;
}

/** Where announcements go: a group, a port, and so often, milliseconds. */
export const ANNOUNCEMENTS = {
  endpoint: { address: 0xe000023c, port: 4445 }, // 224.0.2.60
  everyMs: 1500,
} as const;

const NONCE = "ab12";
const GAMEMODES = ["Survival", "Creative", "Adventure"];
const utf8 = (text: string) => new TextEncoder().encode(text);

/** The datagram that answers NetherNet's discovery; the network id is the identity's GUID. */
export function answerRequest(
  { version }: NetherNetStyle,
  identity: ServerIdentity,
  datagram: Uint8Array,
): Uint8Array<ArrayBuffer> | undefined {
  if (openPacket(datagram)?.type !== "request") return undefined;
  const data = encodeServerData(worldOf(identity, version));
  return sealPacket({ type: "response", sender: identity.guid, data });
}

function worldOf(identity: ServerIdentity, version: World["version"]): World {
  const { motd, level, online, max, gamemode } = identity;
  const has = <T>(least: number, value: T) => version >= least ? value : null;
  return {
    version,
    name: utf8(motd.text),
    level: utf8(level),
    online,
    max,
    gamemode: GAMEMODES.indexOf(gamemode),
    editor: false,
    hardcore: false,
    connection: 4,
    onlineAuth: has(5, true),
    selfSignedAuth: has(5, true),
    nonce: has(6, utf8(NONCE)),
    transport: version === 7 ? null : 2,
    protocol: has(7, identity.protocol),
    gameVersion: has(7, utf8(identity.version)),
  };
}

/** A world that answers NetherNet's discovery with a version of its server data. */
export function nethernetStyle(version: World["version"]): NetherNetStyle {
  const has = <T>(least: number, value: T) => version >= least ? value : null;
  return {
    version,
    truth: ({ motd, level, online, max, gamemode, guid, ...rest }) => ({
      columns: {
        edition: "bedrock",
        name: motd.plain,
        motd: motd.text,
        motd_plain: motd.plain,
        map: level,
        gamemode,
        players_online: online,
        players_max: max,
        version: has(7, rest.version),
        protocol_version: has(7, rest.protocol),
      },
      flags: [],
      facts: {
        network_id: guid.toString(),
        data_version: version,
        editor: false,
        hardcore: false,
        online_auth: has(5, true),
        self_signed_auth: has(5, true),
        nonce: has(6, NONCE),
        transport: version === 7 ? null : 2,
        connection: 4,
      },
    }),
  };
}

/** A Java world that was "opened to LAN". */
export const openToLan: AnnouncementStyle = {
  datagram: ({ motd }, port) =>
    encodeAnnouncement({ motd: utf8(motd.text), address: String(port) }),
  truth: ({ motd }, port) => ({
    columns: { edition: "java", name: motd.plain, motd: motd.text, motd_plain: motd.plain },
    flags: [],
    facts: { address: String(port) },
  }),
};
