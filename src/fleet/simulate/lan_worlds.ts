/**
 * LAN worlds: Java worlds that are "open to LAN" and broadcast announcements, and Bedrock worlds that
 * respond to NetherNet discovery.
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
import type { SimulatedIdentity } from "./server_identity.ts";

/** The announcements of a Java world. */
export interface AnnouncementStyle {
  /** Encodes the announcement of a world at a port. */
  readonly datagram: (identity: SimulatedIdentity, port: number) => Uint8Array;
  /** What a correct scanner reads. */
  readonly truth: (identity: SimulatedIdentity, port: number) => Statement;
}

/** The NetherNet behaviour of a Bedrock world. */
export interface NetherNetStyle {
  /** Version of the server data in its response. */
  readonly version: World["version"];
  /** What a correct scanner reads. */
  readonly truth: (identity: SimulatedIdentity) => Statement;
}

/** Multicast groups by address family, port and interval (milliseconds) of announcements. */
export const ANNOUNCEMENTS = {
  groups: {
    4: { address: 0xe000023c, port: 4445 }, // 224.0.2.60
    6: { address: 0xff75_0230n << 96n | 0x60n, port: 4445 }, // ff75:230::60
  },
  everyMs: 1500,
} as const;

const NONCE = "ab12";
const GAMEMODES = ["Survival", "Creative", "Adventure"];
const utf8 = (text: string) => new TextEncoder().encode(text);

/** Encodes the response to a NetherNet discovery request. The network id is the identity's GUID. */
export function answerRequest(
  { version }: NetherNetStyle,
  identity: SimulatedIdentity,
  datagram: Uint8Array,
): Uint8Array<ArrayBuffer> | undefined {
  if (openPacket(datagram)?.type !== "request") return undefined;
  const data = encodeServerData(worldOf(identity, version));
  return sealPacket({ type: "response", sender: identity.guid, data });
}

function worldOf(identity: SimulatedIdentity, version: World["version"]): World {
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

/** NetherNet behaviour with a version of the server data. */
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

/** Announcements of a Java world that is "open to LAN". */
export const openToLan: AnnouncementStyle = {
  datagram: ({ motd }, port) =>
    encodeAnnouncement({ motd: utf8(motd.text), address: String(port) }),
  truth: ({ motd }, port) => ({
    columns: { edition: "java", name: motd.plain, motd: motd.text, motd_plain: motd.plain },
    flags: [],
    facts: { address: String(port) },
  }),
};
