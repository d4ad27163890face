/**
 * The advertisement of each software, and what a correct scanner reads. Expected values are written by
 * hand, not produced by a decoder.
 *
 * @module
 */
import type { Statement } from "../../../protocols/protocol.ts";
import type { ServerRecord } from "../../../core/record.ts";
import type { BedrockStyle } from "./pongs.ts";
import { OPEN_CONNECTION_STYLES } from "./open_connection_styles.ts";
import type { Motd, SimulatedIdentity } from "../server_identity.ts";

/** The form of a software's advertisement, which determines the expected columns and facts. */
interface Shape {
  readonly fields: number;
  readonly terminated?: boolean;
  readonly motd?: (motd: Motd) => Motd;
  readonly level?: (identity: SimulatedIdentity) => string;
  readonly serverId?: (identity: SimulatedIdentity) => string;
  readonly version?: (identity: SimulatedIdentity) => string;
  readonly gamemode?: string;
  readonly ports?: readonly [v4: number, v6: number];
  readonly unnamed?: readonly string[];
  readonly edition?: string;
  readonly software?: string;
  readonly flags?: (motd: Motd) => readonly string[];
}

const decimal = ({ guid }: SimulatedIdentity) => guid.toString();

/** What a correct scanner reads from a valid advertisement. */
function statementOf(shape: Shape): (identity: SimulatedIdentity) => Statement {
  return (identity) => {
    const { text, plain } = (shape.motd ?? ((motd) => motd))(identity.motd);
    const { fields } = shape;
    const level = (shape.level ?? (() => identity.level))(identity) || null;
    const columns: Partial<ServerRecord> = {
      guid: decimal(identity),
      edition: shape.edition ?? "bedrock",
      software: shape.software ?? null,
      name: plain,
      motd: text,
      motd_plain: plain,
      version: (shape.version ?? (({ version }) => version))(identity) || null,
      protocol_version: identity.protocol,
      map: shape.software === undefined ? level : null,
      gamemode: shape.gamemode ?? identity.gamemode,
      players_online: identity.online,
      players_max: identity.max,
      port_v4: fields > 10 ? shape.ports?.[0] ?? 19132 : null,
      port_v6: fields > 11 ? shape.ports?.[1] ?? 19133 : null,
    };
    const facts = {
      server_id: (shape.serverId ?? decimal)(identity),
      level,
      field_count: fields,
      terminated: shape.terminated ?? true,
      unnamed: shape.unnamed ?? (fields > 9 ? ["1"] : []),
    };
    return { columns, flags: (shape.flags ?? (() => []))(identity.motd), facts };
  };
}

/** Fields 2 to 5, which all software writes alike. */
const head = ({ version, protocol, online, max }: SimulatedIdentity) =>
  `${protocol};${version};${online};${max}`;
const tail = ";1;19132;19133;";
const semicolonToColon = ({ text, plain }: Motd): Motd => ({
  text: text.replaceAll(";", ":"),
  plain: plain.replaceAll(";", ":"),
});
const escaped = (text: string) => text.replaceAll(";", "\\;");
const markedSemicolon = ({ text }: Motd) => text.includes(";") ? ["motdSemicolon"] : [];
/**
 * The high half of a UUID, derived from the GUID. It therefore depends on the seed. Bits 12 to 15
 * are the version of the UUID.
 */
const halfUuid = ({ guid }: SimulatedIdentity) => (guid >> 1n & ~0xf000n | 0x4000n).toString();
const twoLevels = ({ level }: SimulatedIdentity) => `${level}; 2`;
const signed = ({ guid }: SimulatedIdentity) => BigInt.asIntN(64, guid).toString();

/** RakNet behaviour by software. */
export const BEDROCK_STYLES = {
  /** Bedrock Dedicated Server: 12 fields, no escaping. */
  bds: {
    text: (id) =>
      `MCPE;${id.motd.text};${head(id)};${decimal(id)};${id.level};${id.gamemode}${tail}`,
    openConnection: OPEN_CONNECTION_STYLES.plain,
    truth: statementOf({ fields: 12, flags: markedSemicolon }),
  },
  /** PocketMine-MP: 9 fields, escapes `;`, the software's name as the level; blocks senders for 5 s. */
  pocketmine: {
    text: (id) =>
      `MCPE;${escaped(id.motd.text)};${head(id)};${decimal(id)};PocketMine-MP;${id.gamemode};`,
    punishes: 5,
    openConnection: OPEN_CONNECTION_STYLES.plain,
    truth: statementOf({ fields: 9, level: () => "PocketMine-MP", software: "PocketMine-MP" }),
  },
  /** Nukkit: 12 fields, escapes `;`, a signed id. */
  nukkit: {
    text: (id) =>
      `MCPE;${escaped(id.motd.text)};${head(id)};${
        signed(id)
      };${id.level};${id.gamemode};1;19132;19132;`,
    answersOpen: false,
    openConnection: OPEN_CONNECTION_STYLES.cloudburst,
    truth: statementOf({ fields: 12, serverId: signed, ports: [19132, 19132] }),
  },
  /** PowerNukkitX: no version, and the high half of a UUIDv4 as the id. */
  powernukkitx: {
    text: (id) =>
      `MCPE;${escaped(id.motd.text)};${id.protocol};;${id.online};${id.max};${halfUuid(id)};` +
      `${id.level};${id.gamemode};1;19132;19132;`,
    answersOpen: false,
    openConnection: OPEN_CONNECTION_STYLES.cloudburst,
    truth: statementOf({
      fields: 12,
      version: () => "",
      serverId: halfUuid,
      ports: [19132, 19132],
    }),
  },
  /** WaterdogPE: 10 fields, without a final `;`. */
  waterdog: {
    text: (id) =>
      `MCPE;${escaped(id.motd.text)};${head(id)};${decimal(id)};WaterdogPE;${id.gamemode};1`,
    answersOpen: false,
    openConnection: OPEN_CONNECTION_STYLES.cloudburst,
    truth: statementOf({ fields: 10, terminated: false, level: () => "WaterdogPE" }),
  },
  /** Geyser: 12 fields, `;` replaced by `:`, one game mode, its name for an empty text. */
  geyser: {
    text: (id) =>
      `MCPE;${semicolonToColon(id.motd).text};${head(id)};${decimal(id)};Geyser` +
      ";Survival;1;19132;19132;",
    answersOpen: false,
    openConnection: OPEN_CONNECTION_STYLES.cloudburst,
    truth: statementOf({
      fields: 12,
      motd: semicolonToColon,
      level: () => "Geyser",
      gamemode: "Survival",
      ports: [19132, 19132],
    }),
  },
  /** Dragonfly with gophertunnel of 2026: 14 fields, no level; blocks senders for 10 s. */
  dragonfly: {
    text: (id) => `MCPE;${id.motd.text};${head(id)};${decimal(id)};;Creative;1;19132;19132;0;0;`,
    punishes: 10,
    openConnection: OPEN_CONNECTION_STYLES.goRaknet,
    punishesUnknown: true,
    truth: statementOf({
      fields: 14,
      level: () => "",
      gamemode: "Creative",
      ports: [19132, 19132],
      unnamed: ["1", "0", "0"],
      flags: markedSemicolon,
    }),
  },
  /** bedrock-protocol: 13 fields, no escaping. */
  bedrockProtocol: {
    text: (id) =>
      `MCPE;${id.motd.text};${head(id)};1700000000000;bedrock-protocol;${id.gamemode}` +
      ";1;19132;19133;0;",
    answersOpen: false,
    openConnection: OPEN_CONNECTION_STYLES.jspRaknet,
    truth: statementOf({
      fields: 13,
      serverId: () => "1700000000000",
      level: () => "bedrock-protocol",
      unnamed: ["1", "0"],
      flags: markedSemicolon,
    }),
  },
  /** bedrock-protocol of 2026 with the owner's level name, not escaped either. */
  bedrockProtocolLevel: {
    text: (id) =>
      `MCPE;${id.motd.text};${head(id)};1700000000000;${twoLevels(id)};${id.gamemode}` +
      ";1;19132;19132;0;",
    answersOpen: false,
    openConnection: OPEN_CONNECTION_STYLES.jspRaknet,
    truth: statementOf({
      fields: 13,
      serverId: () => "1700000000000",
      level: twoLevels,
      ports: [19132, 19132],
      unnamed: ["1", "0"],
      flags: (motd) => [...markedSemicolon(motd), "levelSemicolon"],
    }),
  },
  /** SerenityJS: the 12 fields of BDS, the software's name as the level, one game mode. */
  serenityjs: {
    text: (id) =>
      `MCPE;${id.motd.text};${head(id)};${decimal(id)};SerenityJS;Survival;1;19132;19133;`,
    openConnection: OPEN_CONNECTION_STYLES.plain,
    truth: statementOf({
      fields: 12,
      level: () => "SerenityJS",
      gamemode: "Survival",
      flags: markedSemicolon,
    }),
  },
  /**
   * JSPrismarine: 9 fields, an id of 0, sometimes a GUID of 0, because it uses uninitialised
   * memory.
   */
  jsprismarine: {
    text: (id) => `MCPE;${id.motd.text};${head(id)};0;JSRakNet;${id.gamemode.toLowerCase()};`,
    openConnection: OPEN_CONNECTION_STYLES.plain,
    truth: (id) =>
      statementOf({
        fields: 9,
        serverId: () => "0",
        level: () => "JSRakNet",
        gamemode: id.gamemode.toLowerCase(),
        flags: markedSemicolon,
      })(id),
  },
  /** Education Edition: `MCEE` in place of `MCPE`. */
  education: {
    text: (id) =>
      `MCEE;${id.motd.text};${head(id)};${decimal(id)};${id.level};${id.gamemode}${tail}`,
    openConnection: OPEN_CONNECTION_STYLES.plain,
    truth: statementOf({ fields: 12, edition: "education", flags: markedSemicolon }),
  },
  /** raknet-node: 11 fields, no escaping, its own clock in the pong, no checks. */
  raknetNode: {
    text: (id) =>
      `MCPE;${id.motd.text};${head(id)};${decimal(id)};${id.level};${id.gamemode};1;19132;`,
    ownClock: true,
    openConnection: OPEN_CONNECTION_STYLES.raknetNode,
    truth: statementOf({
      fields: 11,
      flags: (motd) => [...markedSemicolon(motd), "timeNotEchoed"],
    }),
  },
  /** Pocket Edition of 2012: three fields. */
  pocket2012: {
    text: ({ players: [name] }) => `MCCPP;Demo;${name ?? ""}`,
    openConnection: OPEN_CONNECTION_STYLES.pocket2012,
    truth: ({ guid, players: [name] }) => ({
      columns: {
        guid: guid.toString(),
        edition: "pocket",
        name: name ?? null,
        motd: name ?? null,
        motd_plain: name ?? null,
      },
      flags: name === undefined ? ["hidden"] : [],
      facts: {
        server_id: null,
        level: null,
        field_count: name === undefined ? 2 : 3,
        terminated: name === undefined,
        unnamed: ["Demo"],
      },
    }),
  },
  /** Another game, with a different advertisement. */
  otherGame: {
    text: ({ online, max }) => `ARENA|1.0|${online}/${max}`,
    bare: true,
    openConnection: OPEN_CONNECTION_STYLES.raknet4,
    truth: ({ guid, online, max }) => ({
      columns: { guid: guid.toString() },
      flags: ["lengthMismatch", "otherGame"],
      facts: { payload: `ARENA|1.0|${online}/${max}` },
    }),
  },
  /** A server whose pong has no advertisement. */
  mute: {
    text: undefined,
    truth: ({ guid }) => ({
      columns: { guid: guid.toString() },
      flags: ["noAdvertisement"],
      facts: {},
    }),
  },
  /** Original RakNet that has banned the scanner's address. */
  banned: {
    text: undefined,
    refusal: "banned",
    truth: ({ guid }) => ({
      columns: { guid: guid.toString() },
      flags: ["refused"],
      facts: { refusal: "banned" },
    }),
  },
} satisfies Record<string, BedrockStyle>;
