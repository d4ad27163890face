/**
 * The text in a Bedrock pong: fields with `;` between them, usually one more at the end.
 *
 *     0 edition   1 MOTD   2 protocol   3 version   4 players   5 slots   6 server id
 *     7 level   8 game mode   9 (disputed)   10 IPv4 port   11 IPv6 port   12, 13 (unnamed flags)
 *
 *     MCPE;Dedicated Server;766;1.21.50;0;10;5335687477053034848;Bedrock level;Survival;1;19132;19133;
 *
 * The number of fields depends on the software: 3 in the Pocket Edition of 2011 to 2014
 * (`MCCPP;Demo;name`), 6 from 0.11 on, 9 in PocketMine-MP, 10 in WaterdogPE (without a last `;`),
 * 12 in Bedrock Dedicated Server, Geyser, Nukkit and PowerNukkitX, 13 in bedrock-protocol, and 14
 * in gophertunnel of 2026. Sources disagree on field 9: a game mode, or a flag for Nintendo. Every
 * server that was observed writes 1, and the field stays text.
 *
 * @module
 */
import { decodeUtf8 } from "../../core/text.ts";
import {
  type AdvertisementFields,
  isInteger,
  placeFields,
  splitFields,
} from "./advertisement_fields.ts";

/** A Bedrock advertisement. A missing or empty field is `null`, never zero. */
export interface BedrockStatus {
  /** The first field: `MCPE` Bedrock, `MCEE` Education, `MCCPP` Pocket (2011 to 2014). */
  readonly edition: "MCPE" | "MCEE" | "MCCPP";
  /** The server's name; empty for a hidden Pocket host. */
  readonly motd: string;
  /** The whole text, if the end of the MOTD is ambiguous; `motd` is then empty. */
  readonly motdSent?: string;
  /** Protocol number of the game; -1: the server software did not set it. */
  readonly protocol: number | null;
  /** Game version, as the server writes it. */
  readonly version: string | null;
  /** Number of players online. */
  readonly online: number | null;
  /** Number of player slots. */
  readonly max: number | null;
  /** Server id, decimal, as the server writes it; signed on some servers. */
  readonly serverId: string | null;
  /** Second line of the server list: the level's name, or text of the server software. */
  readonly level: string | null;
  /** Game mode, as the server writes it. */
  readonly gamemode: string | null;
  /** IPv4 port to join. */
  readonly portV4: number | null;
  /** IPv6 port to join. */
  readonly portV6: number | null;
  /** Fields without an agreed meaning, unchanged: field 9 and all fields from 12 on (Pocket Edition: field 1). */
  readonly unnamed: readonly string[];
  /** Number of fields in the advertisement. */
  readonly fieldCount: number;
  /** Whether a `;` follows the last field, which depends on the server software. */
  readonly terminated: boolean;
  /** Anomalies that the decoder found. */
  readonly flags: readonly (
    /**
     * The MOTD contains an unescaped `;`. The MOTD is joined again, or omitted if its end is
     * ambiguous.
     */
    | "motdSemicolon"
    /**
     * The level contains an unescaped `;`. The level is joined again, or omitted if its end is
     * ambiguous.
     */
    | "levelSemicolon"
    /** Numbers follow the level: the game mode is missing. Ambiguous numbers are omitted. */
    | "noGamemode"
    /** The text is not valid UTF-8; U+FFFD replaces each invalid sequence. */
    | "badUtf8"
    /** A field is not a number although it must be one; it is `null`. */
    | "badNumber"
    /** The server is a hidden Pocket host, which replies with an empty name. */
    | "hidden"
  )[];
}

/** An anomaly of an advertisement. */
export type AdvertisementFlag = BedrockStatus["flags"][number];

/**
 * Decodes a Bedrock advertisement.
 *
 * @returns `undefined` for another game's text, which does not start with an edition.
 *
 * @example A MOTD with a `;` that the server did not escape
 * ```ts
 * import { raknet } from "blocksweep/protocols";
 * import { assertEquals } from "@std/assert";
 *
 * const text = new TextEncoder().encode("MCPE;a;b;766;1.21.50;3;10;1;level;Survival;");
 * const status = raknet.decodeAdvertisement(text)!;
 * assertEquals([status.motd, status.online, status.flags], ["a;b", 3, ["motdSemicolon"]]);
 * ```
 */
export function decodeAdvertisement(bytes: Uint8Array): BedrockStatus | undefined {
  const { text, badUtf8 } = decodeUtf8(bytes);
  const edition = /^(MCPE|MCEE|MCCPP);/.exec(text)?.[1] as BedrockStatus["edition"] | undefined;
  if (edition === undefined) return undefined;
  const written = splitFields(text);
  const flags: AdvertisementFlag[] = badUtf8 ? ["badUtf8"] : [];
  if (edition === "MCCPP") return pocketStatus(written, flags);
  const placed = placeFields(written.fields, text);
  const status = bedrockStatus(edition, placed.fields, written.terminated, [
    ...flags,
    ...placed.flags,
  ]);
  return placed.fields.length > 0 ? status : { ...status, motdSent: written.fields.join(";") };
}

function bedrockStatus(
  edition: BedrockStatus["edition"],
  fields: readonly string[],
  terminated: boolean,
  flags: AdvertisementFlag[],
): BedrockStatus {
  const text = (at: number) => fields[at] || null;
  const number = (at: number, least = 0) => {
    if (!fields[at]) return null;
    if (isInteger(fields[at]) && Number(fields[at]) >= least) return Number(fields[at]);
    if (!flags.includes("badNumber")) flags.push("badNumber");
    return null;
  };
  return {
    edition,
    motd: fields[1] ?? "",
    protocol: number(2, -1), // -1: the software did not set it
    version: text(3),
    online: number(4),
    max: number(5),
    serverId: text(6),
    level: text(7),
    gamemode: text(8),
    portV4: port(number(10)),
    portV6: port(number(11)),
    unnamed: [...fields.slice(9, 10), ...fields.slice(12)],
    fieldCount: fields.length,
    terminated,
    flags,
  };
}

/** Reads `MCCPP;Demo;name`: the name is the third field, and empty when the host is hidden. */
function pocketStatus(
  { fields, terminated }: AdvertisementFields,
  flags: readonly AdvertisementFlag[],
): BedrockStatus {
  const motd = fields.slice(2).join(";"); // Pocket hosts did not escape `;`
  return {
    edition: "MCCPP",
    motd,
    protocol: null,
    version: null,
    online: null,
    max: null,
    serverId: null,
    level: null,
    gamemode: null,
    portV4: null,
    portV6: null,
    unnamed: fields.slice(1, 2),
    fieldCount: fields.length,
    terminated,
    flags: motd === "" ? [...flags, "hidden"] : flags,
  };
}

function port(value: number | null): number | null {
  return value !== null && value >= 1 && value <= 65535 ? value : null;
}
