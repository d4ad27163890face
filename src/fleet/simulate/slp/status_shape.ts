/**
 * A status that is there, described once: the JSON that a software writes, and what a correct
 * reader makes of it, written down apart from the scanner's own rules.
 *
 * @module
 */
import type { Facts } from "../../../core/record.ts";
import type { Statement } from "../../../protocols/protocol.ts";
import type { Handshake, LegacyStatus } from "../../../protocols/slp/mod.ts";
import type { Motd, ServerIdentity } from "../server_identity.ts";
import type { SlpStyle } from "./slp_replies.ts";

/** What differs from software to software. */
export interface SlpShape {
  /** Keys of the status in their order; those without a value are left out. */
  readonly order: readonly string[];
  /** The brand before the version. */
  readonly brand?: string;
  /** The version. Default: the identity's. */
  readonly version?: string;
  /** The protocol number, where it is not the identity's: proxies repeat the client's. */
  readonly protocol?: { readonly most: number };
  /** The protocol number in answers to legacy pings. Default: 127, as of vanilla. */
  readonly legacyProtocol?: number;
  /** The description, and what a reader should make of it. Default: the MOTD as a text component. */
  readonly description?: {
    readonly json: (motd: Motd) => unknown;
    readonly motd: (motd: Motd) => Motd;
    readonly form: string;
  };
  /** When names of players are listed. Default: when there are any, as vanilla does. */
  readonly sample?: "some" | "always" | "empty" | "never";
  /** Whether the players are hidden. */
  readonly hidden?: boolean;
  /** The icon: URL, and the hash and size of what is in it. */
  readonly icon?: { readonly url: string; readonly hash: string; readonly size: number };
  /** Switches of the status. */
  readonly switches?: Readonly<Record<string, boolean>>;
  /** Other keys. */
  readonly rest?: Readonly<Record<string, unknown>>;
  /** Facts that follow from them. */
  readonly facts?: Facts;
  /** What is odd. */
  readonly flags?: readonly string[];
}

/** A style whose JSON and truth come from one description. */
export function statusStyle(shape: SlpShape, more: Partial<SlpStyle> = {}): SlpStyle {
  return {
    status: (identity, asked) => JSON.stringify(jsonOf(shape, identity, asked)),
    legacy: (identity) => ({
      form: "1.4",
      protocol: shape.legacyProtocol ?? LATER_PROTOCOL,
      version: nameOf(shape, identity),
      motd: (shape.description ?? LITERAL).motd(identity.motd).text,
      online: identity.online,
      max: identity.max,
    }),
    truth: (identity) => {
      const { columns, facts } = truthOf(shape, identity);
      return { columns, flags: shape.flags ?? [], facts };
    },
    ...more,
  };
}

/** What servers since 1.7 give as their protocol number to those who ask in the old way. */
const LATER_PROTOCOL = 127;

const LITERAL = {
  json: ({ text }: Motd) => ({ text }),
  motd: ({ text, plain }: Motd) => ({ text: normalMotd(text), plain }),
  form: "object",
};

/** A description that is a text, as it was until 1.8 and is again since 1.20.3. */
export const STRING_MOTD: NonNullable<SlpShape["description"]> = {
  json: ({ text }) => text,
  motd: (motd) => motd,
  form: "string",
};

function jsonOf(shape: SlpShape, identity: ServerIdentity, asked: Handshake): unknown {
  const { online, max } = identity;
  const sample = sampleOf(shape, identity)?.map((name, i) => ({
    name,
    id: `00000000-0000-4000-8000-00000000000${i}`,
  }));
  const { most } = shape.protocol ?? {};
  const protocol = most === undefined
    ? identity.protocol
    : asked.protocol > 0 && asked.protocol < most
    ? asked.protocol
    : most;
  const values: Record<string, unknown> = {
    version: { name: nameOf(shape, identity), protocol },
    description: (shape.description ?? LITERAL).json(identity.motd),
    players: shape.hidden ? undefined : { max, online, sample },
    favicon: shape.icon?.url,
    ...shape.switches,
    ...shape.rest,
  };
  return Object.fromEntries(shape.order.map((key) => [key, values[key]]));
}

function truthOf(shape: SlpShape, identity: ServerIdentity) {
  const description = shape.description ?? LITERAL;
  const { text, plain } = description.motd(identity.motd);
  const sample = sampleOf(shape, identity) ?? null;
  const hidden = shape.hidden ?? false;
  const columns = {
    name: plain,
    motd: text,
    motd_plain: plain,
    edition: "java",
    software: shape.brand ?? null,
    version: shape.version ?? identity.version,
    protocol_version: shape.protocol?.most ?? identity.protocol,
    players_online: hidden ? null : identity.online,
    players_max: hidden ? null : identity.max,
    players: hidden ? null : sample,
    favicon_hash: shape.icon?.hash ?? null,
  };
  const absent = (key: string) => key === "players" && hidden;
  const facts: Facts = {
    form: "status",
    version_name: nameOf(shape, identity),
    motd_form: description.form,
    keys: shape.order.filter((key) => !absent(key)),
    version_keys: ["name", "protocol"],
    players_keys: hidden ? [] : sample === null ? ["max", "online"] : ["max", "online", "sample"],
    ...(sample === null || hidden ? {} : { sample_size: sample.length }),
    ...(shape.icon && { favicon_size: shape.icon.size }),
    ...shape.switches,
    ...shape.facts,
  };
  return { columns, facts };
}

function nameOf({ brand, version }: SlpShape, identity: ServerIdentity): string {
  const text = version ?? identity.version;
  return brand === undefined ? text : `${brand} ${text}`;
}

function sampleOf(
  { sample = "some" }: SlpShape,
  { players }: ServerIdentity,
): readonly string[] | undefined {
  if (sample === "never" || sample === "some" && players.length === 0) return undefined;
  return sample === "empty" ? [] : players;
}

/** What a legacy status should tell. */
export function legacyTruth(
  form: "1.4" | "beta",
  version: string | null,
  protocol: number | null,
): (identity: ServerIdentity) => Statement {
  return ({ motd, online, max }) => ({
    columns: {
      name: motd.plain,
      motd: motd.text,
      motd_plain: motd.plain,
      edition: "java",
      version,
      protocol_version: protocol,
      players_online: online,
      players_max: max,
    },
    flags: [],
    facts: {
      form: `legacy ${form}`,
      ...(version === null ? {} : { version_name: version }),
      asked: "fe01",
    },
  });
}

/** A status as servers of before 1.7 have it. */
export const legacyStatus =
  (version: string | null, protocol: number | null) =>
  ({ motd, online, max }: ServerIdentity): LegacyStatus => ({
    form: "1.4",
    protocol,
    version,
    motd: motd.text,
    online,
    max,
  });

/**
 * The MOTDs of a fleet in the normal form: of their codes, `§x` alone says nothing, colours end
 * formats, and only what changes is written.
 */
export function normalMotd(text: string): string {
  let [color, formats] = ["r", ""];
  let [lastColor, lastFormats] = ["r", ""];
  let whole = "";
  for (const piece of text.split(/(§[0-9a-z])/)) {
    const code = piece.startsWith("§") ? piece[1] : undefined;
    if (code === "x" || piece === "") continue;
    if (code === "k" || code === "l") formats = [...new Set(formats + code)].sort().join("");
    else if (code !== undefined) [color, formats] = [code, ""];
    else {
      const goesOn = color === lastColor && [...lastFormats].every((one) => formats.includes(one));
      const added = goesOn ? [...formats].filter((one) => !lastFormats.includes(one)) : formats;
      whole += [...(goesOn ? "" : color), ...added].map((one) => `§${one}`).join("") + piece;
      [lastColor, lastFormats] = [color, formats];
    }
  }
  return whole;
}
