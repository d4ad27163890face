/**
 * Derives two things from one description of a status: the JSON of the simulated server, and what a
 * correct scanner reads. The rules do not use code of the scanner.
 *
 * @module
 */
import type { Facts } from "../../../core/record.ts";
import type { Statement } from "../../../protocols/protocol.ts";
import type { Handshake, LegacyStatus } from "../../../protocols/slp/mod.ts";
import type { Motd, SimulatedIdentity } from "../server_identity.ts";
import type { SlpStyle } from "./slp_replies.ts";

/** The description of a software's status. */
export interface SlpShape {
  /** Keys of the status in order. Keys without a value are omitted. */
  readonly order: readonly string[];
  /** Prefix of the version name. */
  readonly brand?: string;
  /** Version name. Default: the identity's. */
  readonly version?: string;
  /**
   * Highest protocol number of a proxy. The proxy repeats the protocol number of the client up to
   * this number. Default: the identity's number.
   */
  readonly protocol?: { readonly most: number };
  /** Protocol number in replies to legacy pings. Default: 127, as vanilla. */
  readonly legacyProtocol?: number;
  /** The description and the expected MOTD. Default: the MOTD as a text component. */
  readonly description?: {
    readonly json: (motd: Motd) => unknown;
    readonly motd: (motd: Motd) => Motd;
    readonly form: string;
  };
  /** When names of players are listed. Default: `some`, if there are players, as in vanilla. */
  readonly sample?: "some" | "always" | "empty" | "never";
  /** Whether names of players are hidden. */
  readonly hidden?: boolean;
  /** The icon as a data URL, with the hash and size (bytes) of its content. */
  readonly icon?: { readonly url: string; readonly hash: string; readonly size: number };
  /** Boolean keys of the status. */
  readonly switches?: Readonly<Record<string, boolean>>;
  /** Further keys of the status, with their values. */
  readonly rest?: Readonly<Record<string, unknown>>;
  /** Expected facts that follow from the further keys. */
  readonly facts?: Facts;
  /** The flags that a scanner should report for this status. */
  readonly flags?: readonly string[];
}

/** Builds the SLP behaviour and the expected record from one description. */
export function statusStyle(shape: SlpShape, more: Partial<SlpStyle> = {}): SlpStyle {
  return {
    status: (identity, request) => JSON.stringify(jsonOf(shape, identity, request)),
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

/** Protocol number in replies of servers since 1.7 to legacy pings. */
const LATER_PROTOCOL = 127;

const LITERAL = {
  json: ({ text }: Motd) => ({ text }),
  motd: ({ text, plain }: Motd) => ({ text: normalMotd(text), plain }),
  form: "object",
};

/** A description that is a JSON string, as vanilla wrote until 1.8 and writes since 1.20.3. */
export const STRING_MOTD: NonNullable<SlpShape["description"]> = {
  json: ({ text }) => text,
  motd: (motd) => motd,
  form: "string",
};

function jsonOf(shape: SlpShape, identity: SimulatedIdentity, request: Handshake): unknown {
  const { online, max } = identity;
  const sample = sampleOf(shape, identity)?.map((name, i) => ({
    name,
    id: `00000000-0000-4000-8000-00000000000${i}`,
  }));
  const { most } = shape.protocol ?? {};
  const protocol = most === undefined
    ? identity.protocol
    : request.protocol > 0 && request.protocol < most
    ? request.protocol
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

function truthOf(shape: SlpShape, identity: SimulatedIdentity) {
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

function nameOf({ brand, version }: SlpShape, identity: SimulatedIdentity): string {
  const text = version ?? identity.version;
  return brand === undefined ? text : `${brand} ${text}`;
}

function sampleOf(
  { sample = "some" }: SlpShape,
  { players }: SimulatedIdentity,
): readonly string[] | undefined {
  if (sample === "never" || sample === "some" && players.length === 0) return undefined;
  return sample === "empty" ? [] : players;
}

/** What a correct scanner reads from a legacy status. */
export function legacyTruth(
  form: "1.4" | "beta",
  version: string | null,
  protocol: number | null,
): (identity: SimulatedIdentity) => Statement {
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
      request: "fe01fa",
    },
  });
}

/** The status of servers before 1.7. */
export const legacyStatus =
  (version: string | null, protocol: number | null) =>
  ({ motd, online, max }: SimulatedIdentity): LegacyStatus => ({
    form: "1.4",
    protocol,
    version,
    motd: motd.text,
    online,
    max,
  });

/**
 * Normalises the formatting codes of a MOTD: a lone `§x` has no effect, a colour resets formats, and only
 * changes are written.
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
