/**
 * Converts a status into columns and facts of the record. All values are bounded, because a server
 * may send 2 MiB, and rows are stored.
 *
 * @module
 */
import { hexOf } from "../../core/bytes.ts";
import { nodeCrypto } from "../../core/node_modules.ts";
import type { Facts, FactValue, ServerRecord } from "../../core/record.ts";
import { cutText, encodeLatin1, plainText } from "../../core/text.ts";
import { nameColumns } from "../name_columns.ts";
import type { Statement } from "../protocol.ts";
import { ANY_PROTOCOL } from "./codec.ts";
import type { Modding } from "./forge_mods.ts";
import type { LegacyReply } from "./legacy_ping.ts";
import type { JavaDisconnect, JavaStatus } from "./status_json.ts";

/** A Java server's reply to a status request or a legacy ping. */
export type SlpStatus =
  | {
    readonly kind: "status";
    /** The status, parsed from its JSON. */
    readonly java: JavaStatus;
    /** The client's protocol number in the request; absent: unspecified. */
    readonly requestProtocol?: number;
    /** Number of bytes after the JSON in its frame. */
    readonly trailing: number;
    /** Whether the pong's bytes differ from the ping's. */
    readonly pongDiffers: boolean;
  }
  | JavaDisconnect
  | {
    readonly kind: "legacy";
    /** The kick: a status, or the reason for the refusal. */
    readonly reply: LegacyReply;
    /** The request that got the kick: `fe01fa`, `fe01`, `fe` or `status`. */
    readonly requestForm: string;
  };

/**
 * Maximum number of UTF-16 units of a MOTD; a colour gradient takes up to fifteen for one letter.
 */
const MAX_MOTD = 8192;
/** Maximum number of UTF-16 units of any other text. */
const MAX_TEXT = 256;
/** Maximum number of player names; vanilla sends twelve. */
const MAX_PLAYERS = 128;
/** Maximum number of mods; big packs have four hundred. */
const MAX_MODS = 512;
/** Maximum number of keys of one object. */
const MAX_KEYS = 24;

/**
 * The protocol number that newer software writes in its replies to legacy pings, instead of its own
 * number.
 */
const LEGACY_REPLY_PROTOCOL = 127;

/** The columns that a statement may fill. */
export const SLP_COLUMNS = [
  "name",
  "motd",
  "motd_plain",
  "edition",
  "software",
  "version",
  "protocol_version",
  "players_online",
  "players_max",
  "players",
  "favicon_hash",
] as const satisfies (keyof ServerRecord)[];
type SlpColumns = Partial<Pick<ServerRecord, typeof SLP_COLUMNS[number]>>;

export function slpStatement(status: SlpStatus): Statement {
  switch (status.kind) {
    case "status":
      return statusStatement(status);
    case "legacy":
      return legacyStatement(status.reply, status.requestForm);
    case "disconnect":
      return {
        columns: { edition: "java" },
        flags: ["disconnected", ...status.flags],
        facts: { form: "disconnect", reason: reasonText(status.reason) },
      };
  }
}

function statusStatement(
  { java, requestProtocol, trailing, pongDiffers }: Extract<SlpStatus, { kind: "status" }>,
) {
  const icon = readIcon(java.favicon);
  const { software, version } = splitVersion(java.versionName);
  const columns: SlpColumns = {
    ...cutNameColumns(java.motd),
    edition: "java",
    software,
    version,
    protocol_version: java.protocol,
    players_online: java.online,
    players_max: java.max,
    players: java.sample?.slice(0, MAX_PLAYERS).map(({ name }) => cutToText(name)) ?? null,
    favicon_hash: icon.hash,
  };
  const flags: string[] = [...java.flags];
  if (icon.isInvalid) flags.push("badFavicon");
  if (trailing > 0) flags.push("trailingBytes");
  if (pongDiffers) flags.push("pongDiffers");
  if (java.protocol === (requestProtocol ?? ANY_PROTOCOL)) flags.push("versionEchoed");
  if (java.sample?.some(({ name }) => name.includes("§"))) flags.push("sampleText");
  if (exceedsLimits(java) && !flags.includes("cut")) flags.push("cut");
  const facts = statusFacts(java, icon.size);
  return {
    columns,
    flags,
    facts,
    ...(java.motdSent !== null && { motdSent: java.motdSent }),
    ...(icon.bytes !== undefined && { icon: icon.bytes }),
    ...(java.sample !== null && { sample: sampleOf(java.sample) }),
  };
}

/** The sample of players, cut as the column is. */
function sampleOf(sample: NonNullable<JavaStatus["sample"]>) {
  return sample.slice(0, MAX_PLAYERS).map(({ name, id }) => ({
    name: cutToText(name),
    id: id === null ? null : cutToText(id),
  }));
}

/** Whether the status exceeds the bounds of a row. */
function exceedsLimits({ motd, sample, modding, versionName, contact, keys }: JavaStatus): boolean {
  const names = sample?.map(({ name }) => name) ?? [];
  return isLonger(motd, MAX_MOTD) || isLonger(names, MAX_PLAYERS) ||
    isLonger(modding?.mods, MAX_MODS) ||
    [versionName, contact, ...names].some((text) => isLonger(text, MAX_TEXT)) ||
    Object.values(keys).some((list) => isLonger(list, MAX_KEYS));
}

function isLonger(what: ArrayLike<unknown> | null | undefined, most: number): boolean {
  return (what?.length ?? 0) > most;
}

function statusFacts(java: JavaStatus, iconSize: number | null): Facts {
  const names = (list: readonly string[]) => list.slice(0, MAX_KEYS).map(cutToText);
  return withoutNulls({
    form: "status",
    version_name: java.versionName === null ? null : cutToText(java.versionName),
    motd_form: java.motdForm,
    keys: names(java.keys.status),
    version_keys: names(java.keys.version),
    players_keys: names(java.keys.players),
    sample_size: java.sample?.length ?? null,
    favicon_size: iconSize,
    contact: java.contact === null ? null : cutToText(java.contact),
    ...Object.fromEntries(java.switches),
    ...(java.unread.size > 0 && { unread: textPairs(java.unread) }),
    ...(java.modding && moddingFacts(java.modding)),
  });
}

function moddingFacts({ form, loader, mods, channels, truncated }: Modding): Facts {
  const listed = mods?.slice(0, MAX_MODS).map(({ id, version }) => [id, version ?? ""] as const);
  return {
    mods_form: form,
    mods_loader: loader === null ? null : cutToText(loader),
    mods_count: mods?.length ?? null,
    mods_channels: mods === null ? null : channels,
    mods: listed === undefined ? null : textPairs(listed),
    mods_truncated: truncated || null,
  };
}

function legacyStatement({ status, text, flags }: LegacyReply, requestForm: string): Statement {
  if (status === undefined) {
    const facts = { form: "kick", reason: reasonText(text) };
    return { columns: { edition: "java" }, flags: ["disconnected", ...flags], facts };
  }
  const { software, version } = splitVersion(status.version);
  const isLater = status.protocol === LEGACY_REPLY_PROTOCOL;
  const columns: SlpColumns = {
    ...cutNameColumns(status.motd),
    edition: "java",
    software,
    version,
    protocol_version: isLater ? null : status.protocol,
    players_online: status.online,
    players_max: status.max,
  };
  const cut = isLonger(status.motd, MAX_MOTD) || isLonger(status.version, MAX_TEXT);
  const facts = withoutNulls({
    form: `legacy ${status.form}`,
    version_name: status.version === null ? null : cutToText(status.version),
    request: requestForm,
    later_protocol: isLater || null,
  });
  return { columns, flags: cut ? [...flags, "cut"] : flags, facts };
}

function cutNameColumns(motd: string | null): SlpColumns {
  return nameColumns(motd && cutText(motd, MAX_MOTD));
}

function reasonText(text: string): string {
  return cutToText(plainText(cutText(text, MAX_MOTD)));
}

/**
 * A software name, then versions: `Paper 1.21.4`, `Velocity 1.7.2-1.21.4`, `Waterfall 1.8.x,
 * 1.9.x`.
 */
const BRANDED = /^([A-Za-z][\w+-]{0,31}) (v?\d[\w.+-]*(?:[,/ ]+v?\d[\w.+-]*)*)$/;
/**
 * First words of version texts that state the required versions of clients. These words are not
 * software names.
 */
const NO_BRANDS = new Set(["requires", "minecraft", "version", "java", "only", "use", "mc"]);

/** Splits a version name into software and version, if it contains both. */
function splitVersion(name: string | null): { software: string | null; version: string | null } {
  const text = cutToText(name ?? "");
  const [, software, version] = BRANDED.exec(text) ?? [];
  const branded = software !== undefined && !NO_BRANDS.has(software.toLowerCase());
  return branded ? { software, version } : { software: null, version: text || null };
}

const PNG = "89504e470d0a1a0a";
/** Maximum size of an icon whose bytes are kept. The pixels of 64 × 64 take 16 KiB uncompressed. */
const MAX_ICON_BYTES = 65_536;

/**
 * An icon with its hash and size in bytes. `isInvalid` means that the icon is not a PNG in a data
 * URL, or is larger than {@linkcode MAX_ICON_BYTES}: then `bytes` is absent.
 */
interface Icon {
  readonly bytes?: Uint8Array;
  readonly hash: string | null;
  readonly size: number | null;
  readonly isInvalid: boolean;
}

function readIcon(url: string | null): Icon {
  if (!url) return { hash: null, size: null, isInvalid: false };
  const bytes = base64Of(url);
  if (bytes === undefined) return { hash: null, size: null, isInvalid: true };
  const hash = nodeCrypto().createHash("sha256").update(bytes).digest("hex");
  if (bytes.length > MAX_ICON_BYTES) return { hash, size: bytes.length, isInvalid: true };
  const isInvalid = hexOf(bytes.subarray(0, 8)) !== PNG || !url.startsWith("data:image/png;");
  return { bytes, hash, size: bytes.length, isInvalid };
}

/** The bytes of a data URL. Servers before 1.13 split the base64 text into lines. */
function base64Of(url: string): Uint8Array | undefined {
  const comma = url.indexOf(",");
  if (!url.startsWith("data:") || !url.slice(0, comma + 1).endsWith(";base64,")) return undefined;
  try {
    return encodeLatin1(atob(url.slice(comma + 1))); // atob() ignores white space
  } catch {
    return undefined;
  }
}

function cutToText(text: string): string {
  return cutText(text, MAX_TEXT);
}

/** Pairs of texts as an object; `__proto__` is an ordinary key in it. */
function textPairs(pairs: Iterable<readonly [string, string]>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Array.from(pairs, ([key, value]) => [cutToText(key), cutToText(value)]),
  );
}

function withoutNulls(facts: Record<string, FactValue>): Facts {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== null));
}
