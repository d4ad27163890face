/**
 * The text in a Bedrock pong: fields with `;` between them, usually one more at the end.
 *
 *     0 edition   1 MOTD   2 protocol   3 version   4 players   5 slots   6 server id
 *     7 level   8 game mode   9 (disputed)   10 IPv4 port   11 IPv6 port   12, 13 (unnamed flags)
 *
 *     MCPE;Dedicated Server;766;1.21.50;0;10;5335687477053034848;Bedrock level;Survival;1;19132;19133;
 *
 * How many there are depends on who wrote them: 3 in the Pocket Edition of 2011 to 2014
 * (`MCCPP;Demo;name`), 6 from 0.11 on, 9 PocketMine-MP, 10 WaterdogPE (and no last `;`), 12 Bedrock
 * Dedicated Server, Geyser, Nukkit and PowerNukkitX, 13 bedrock-protocol, 14 gophertunnel of 2026.
 * Field 9 is a game mode to some and a Nintendo mark to others, and every server read writes 1: it
 * stays text.
 *
 * @module
 */
import { decodeUtf8 } from "../../core/text.ts";
import {
  type AdvertisementFields,
  isInteger,
  placeFields,
  type PlaceFlag,
  splitFields,
} from "./advertisement_fields.ts";

/** The editions: `MCPE` Bedrock, `MCEE` Education, `MCCPP` Pocket (2011 to 2014). */
export type Edition = "MCPE" | "MCEE" | "MCCPP";

/** What was odd about an advertisement. */
export type AdvertisementFlag =
  | PlaceFlag
  /** Not valid UTF-8; U+FFFD stands for what could not be read. */
  | "badUtf8"
  /** A count that is no number. */
  | "badNumber"
  /** A Pocket host that does not show itself: it answers, without a name. */
  | "hidden";

/** A Bedrock advertisement. What is missing or empty is `null`, never zero. */
export interface BedrockStatus {
  /** The first field. */
  readonly edition: Edition;
  /** The server's name; the empty text when a Pocket host is hidden. */
  readonly motd: string;
  /** The whole text, where the end of the MOTD in it is ambiguous: `motd` is empty then. */
  readonly motdSent?: string;
  /** Game protocol number. */
  readonly protocol: number | null;
  /** Game version. */
  readonly version: string | null;
  /** Players online. */
  readonly online: number | null;
  /** Player slots. */
  readonly max: number | null;
  /** Server id, decimal, as written: signed in some servers. */
  readonly serverId: string | null;
  /** Second line: the level's name, or what the software puts there. */
  readonly level: string | null;
  /** Game mode. */
  readonly gamemode: string | null;
  /** IPv4 port to join. */
  readonly portV4: number | null;
  /** IPv6 port to join. */
  readonly portV6: number | null;
  /** Fields without a settled meaning, as written: 9, and those from 12 on (Pocket: 1). */
  readonly unnamed: readonly string[];
  /** How many fields there are. */
  readonly fieldCount: number;
  /** Whether a `;` follows the last one: a mark of the software. */
  readonly terminated: boolean;
  /** What was odd. */
  readonly flags: readonly AdvertisementFlag[];
}

/**
 * Reads a Bedrock advertisement.
 *
 * @returns `undefined` when it is none: another game's text, or no edition and name.
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
  const edition = /^(MCPE|MCEE|MCCPP);/.exec(text)?.[1] as Edition | undefined;
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
  edition: Edition,
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

/** `MCCPP;Demo;name`: the name is the third field, empty when the host is hidden. */
function pocketStatus(
  { fields, terminated }: AdvertisementFields,
  flags: readonly AdvertisementFlag[],
): BedrockStatus {
  const motd = fields.slice(2).join(";"); // these hosts escaped nothing
  return {
    edition: "MCCPP",
    motd,
    ...{ protocol: null, version: null, online: null, max: null, serverId: null },
    ...{ level: null, gamemode: null, portV4: null, portV6: null },
    unnamed: fields.slice(1, 2),
    fieldCount: fields.length,
    terminated,
    flags: motd === "" ? [...flags, "hidden"] : flags,
  };
}

function port(value: number | null): number | null {
  return value !== null && value >= 1 && value <= 65535 ? value : null;
}
