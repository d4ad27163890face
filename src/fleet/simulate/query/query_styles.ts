/**
 * The Query behaviour of each software, and what a correct scanner reads. Expected values are written by
 * hand, not produced by a decoder.
 *
 * @module
 */
import type { Statement } from "../../../protocols/protocol.ts";
import { encodeLatin1 } from "../../../core/text.ts";
import type { SimulatedIdentity } from "../server_identity.ts";
import type { QueryStyle } from "./query_replies.ts";

const utf8 = (text: string) => new TextEncoder().encode(text);

/** Differences between the keys of software. */
interface Keys {
  readonly gameId?: string;
  readonly version?: (identity: SimulatedIdentity) => string;
  readonly plugins?: (identity: SimulatedIdentity) => string;
  readonly engine?: string;
  readonly whitelist?: boolean;
  readonly map?: (identity: SimulatedIdentity) => string;
  readonly online?: (identity: SimulatedIdentity) => number;
  readonly port?: number;
  readonly hostip?: string;
  /** The order of keys. Default: vanilla's. */
  readonly order?: readonly string[];
}

/** Vanilla's keys, in vanilla's order or a given one. */
function keys(shape: Keys): QueryStyle["pairs"] {
  return (id) => {
    const all: Record<string, string> = {
      hostname: id.motd.text,
      gametype: "SMP",
      game_id: shape.gameId ?? "MINECRAFT",
      version: (shape.version ?? (({ version }) => version))(id),
      ...(shape.engine === undefined ? {} : { server_engine: shape.engine }),
      plugins: (shape.plugins ?? (() => ""))(id),
      map: (shape.map ?? (({ level }) => level))(id),
      numplayers: String((shape.online ?? (({ online }) => online))(id)),
      maxplayers: String(id.max),
      ...(shape.whitelist ? { whitelist: "off" } : {}),
      hostport: String(shape.port ?? 25565),
      hostip: shape.hostip ?? "127.0.1.1",
    };
    return (shape.order ?? Object.keys(all)).map((key) => [key, all[key]]);
  };
}

/** What a correct scanner reads from a full stat. */
interface StatementShape extends Keys {
  readonly edition?: string | null;
  readonly software: string | null;
  /** Whether plugins are listed, and the expected version of the last one. */
  readonly lists?: boolean;
  readonly cut?: boolean;
  readonly rawToken?: boolean;
  readonly header?: string;
  readonly flags?: readonly string[];
}

function statementOf(shape: StatementShape): (identity: SimulatedIdentity) => Statement {
  return (id) => {
    const plugins = id.plugins.map((plugin, i) =>
      shape.cut && i === id.plugins.length - 1
        ? { ...plugin, version: plugin.version!.slice(0, -1) }
        : plugin
    );
    const columns = {
      name: id.motd.plain,
      motd: id.motd.text,
      motd_plain: id.motd.plain,
      edition: shape.edition === undefined ? "java" : shape.edition,
      software: shape.software,
      version: (shape.version ?? (({ version }) => version))(id),
      map: (shape.map ?? (({ level }) => level))(id),
      gamemode: "SMP",
      players_online: (shape.online ?? (({ online }) => online))(id),
      players_max: id.max,
      players: id.players,
      plugins: shape.lists ? plugins : null,
      port_v4: shape.port ?? 25565,
    };
    const values = {
      game_id: shape.gameId ?? "MINECRAFT",
      ...(shape.engine === undefined ? {} : { server_engine: shape.engine }),
      ...(shape.whitelist ? { whitelist: "off" } : {}),
      hostip: shape.hostip ?? "127.0.1.1",
      hostport: String(shape.port ?? 25565),
    };
    const facts = {
      form: "full",
      raw_token: shape.rawToken ?? false,
      header: shape.header ?? "splitnum",
      ...(shape.plugins === undefined ? {} : { brand: shape.software }),
      values,
    };
    return { columns, flags: shape.flags ?? [], facts };
  };
}

/** Builds the Query behaviour and the expected record from one description. */
function style(shape: StatementShape, rest: Omit<QueryStyle, "pairs" | "truth">): QueryStyle {
  return { ...rest, header: shape.header, pairs: keys(shape), truth: statementOf(shape) };
}

const list = (id: SimulatedIdentity) =>
  id.plugins.map(({ name, version }) => `${name} ${version}`).join("; ");
const only4 = (padding: number) => padding === 4 ? "full" : "basic";
const vanilla = {
  token: "vanilla",
  binding: "endpoint",
  encode: encodeLatin1,
  form: only4,
} as const;
const paper = "Paper on 1.21.4-R0.1-SNAPSHOT";
const pocketmine = "PocketMine-MP 5.20.0";
const glowstone = "Glowstone git-Glowstone-607ae1e (MC: 1.12.2) on Bukkit 1.12.2-R6.1-SNAPSHOT";
const withV = ({ version }: SimulatedIdentity) => `v${version}`;

export const QUERY_STYLES: Record<string, QueryStyle> = {
  /**
   * Vanilla: a stat request of 15 bytes gets a full stat, a request of any other size a basic stat.
   */
  vanilla: style({ software: null }, vanilla),
  /** Vanilla with U+4E00 in its MOTD. It writes only the low byte of this character, 00. */
  vanillaNul: style({ software: null, flags: ["motdNul"] }, vanilla),
  /** A Paper server that lists its plugins. */
  paper: style({ software: paper, lists: true, plugins: (id) => `${paper}: ${list(id)}` }, vanilla),
  /** Velocity: one token per address; basic and full requests by exact length. */
  velocity: style(
    {
      software: "Velocity",
      lists: true,
      plugins: (id) => `Velocity: ${list(id)}`,
      map: () => "Velocity",
      port: 25577,
    },
    {
      token: "signed",
      binding: "address",
      encode: encodeLatin1,
      form: (padding) => padding === 4 ? "full" : padding === 0 ? "basic" : "none",
    },
  ),
  /**
   * BungeeCord: a full stat for 4 bytes after the token, a basic stat for none, otherwise no reply.
   */
  bungeecord: style(
    { software: null, map: () => "BungeeCord_Proxy", port: 25577 },
    {
      token: "signed",
      binding: "address",
      encode: encodeLatin1,
      form: (padding) => padding === 4 ? "full" : padding === 0 ? "basic" : "none",
    },
  ),
  /** Glowstone: UTF-8, signed tokens, a colon in its version. */
  glowstone: style(
    {
      software: glowstone,
      lists: true,
      plugins: (id) => `${glowstone}: ${list(id)}`,
    },
    { token: "signed", binding: "endpoint", encode: utf8, form: only4 },
  ),
  /** A server that writes its tokens unsigned. */
  unsigned: style({ software: null }, { ...vanilla, token: "unsigned" }),
  /** A server whose tokens have no final NUL. */
  unterminated: style({ software: null, flags: ["unterminated"] }, {
    ...vanilla,
    token: "unterminated",
  }),
  /** Beta 1.9-pre4: the address as a second key `hostname`. */
  beta19: {
    ...vanilla,
    pairs: (id) => [
      ...keys({ hostip: "127.0.0.1" })(id).filter(([key]) => key !== "hostip"),
      ["hostname", "127.0.0.1"],
    ],
    truth: statementOf({ software: null, hostip: "127.0.0.1", flags: ["duplicateKey"] }),
  },
  /** A server whose full stats never arrive, as if fragments were lost. */
  fullLost: {
    ...vanilla,
    form: (padding) => padding === 4 ? "none" : "basic",
    pairs: keys({}),
    truth: (id) => ({
      columns: {
        name: id.motd.plain,
        motd: id.motd.text,
        motd_plain: id.motd.plain,
        map: id.level,
        gamemode: "SMP",
        players_online: id.online,
        players_max: id.max,
        port_v4: 25565,
      },
      flags: ["fullLost"],
      facts: { form: "basic", raw_token: false, values: { hostip: "127.0.1.1" } },
    }),
  },
  /** A server that responds to handshakes and not to stat requests. */
  tokensOnly: {
    ...vanilla,
    form: () => "none",
    pairs: keys({}),
    truth: () => ({ columns: {}, flags: ["statLost"], facts: { raw_token: false } }),
  },
  /** PocketMine-MP: does not respond to a basic request of exactly 11 bytes. */
  pocketmine: style(
    {
      gameId: "MINECRAFTPE",
      edition: "bedrock",
      software: pocketmine,
      engine: pocketmine,
      version: withV,
      whitelist: true,
      lists: true,
      plugins: (id) => `${pocketmine}: ${list(id)}`,
      port: 19132,
      hostip: "0.0.0.0",
    },
    {
      token: "signed",
      binding: "address",
      keepsToken: true,
      encode: utf8,
      form: (padding) => padding === 4 ? "full" : padding === 0 ? "none" : "basic",
    },
  ),
  /**
   * Nukkit: binary tokens, a full stat only for eight bytes after the token, a truncated list of
   * plugins, an outdated player count.
   */
  nukkit: style(
    {
      gameId: "MINECRAFTPE",
      edition: "bedrock",
      software: "Nukkit",
      engine: "Nukkit",
      version: withV,
      whitelist: true,
      lists: true,
      cut: true,
      plugins: (id) => id.plugins.length === 0 ? "Nukkit: " : `Nukkit: ${list(id).slice(0, -1)}`,
      online: ({ online }) => online + 1,
      rawToken: true,
      port: 19132,
      hostip: "0.0.0.0",
    },
    {
      token: "raw",
      binding: "address",
      encode: utf8,
      form: (padding) => padding === 8 ? "full" : "basic",
    },
  ),
  /**
   * WaterdogPE: it confuses full and basic stats, each token is valid for one stat, and the order
   * of keys differs.
   */
  waterdog: style(
    {
      gameId: "MINECRAFTPE",
      edition: "bedrock",
      software: null,
      whitelist: true,
      port: 19132,
      hostip: "waterdog-host",
      order: [
        "hostname",
        "gametype",
        "map",
        "numplayers",
        "maxplayers",
        "hostport",
        "hostip",
        "game_id",
        "version",
        "plugins",
        "whitelist",
      ],
    },
    {
      token: "signed",
      binding: "address",
      singleUse: true,
      encode: encodeLatin1,
      form: (padding) => padding === 8 ? "basic" : "full",
    },
  ),
  /** gophertunnel's encoder: tokens padded with NULs, the header in capitals. */
  gophertunnel: style(
    {
      gameId: "MINECRAFTPE",
      edition: "bedrock",
      software: "Dragonfly",
      engine: "Dragonfly",
      port: 19132,
      hostip: "0.0.0.0",
      header: "SPLITNUM",
    },
    { token: "filled", binding: "endpoint", encode: utf8, form: only4 },
  ),
  /** Geyser of 2020 to 2022: its name in the header, tokens are not checked. */
  geyser2020: style(
    {
      edition: "bedrock",
      software: "Geyser",
      version: ({ version }) => `Geyser (git-master-abc) ${version}`,
      map: () => "Geyser",
      port: 19132,
      hostip: "0.0.0.0",
      header: "GeyserMC",
    },
    { token: "vanilla", binding: "endpoint", encode: utf8, form: () => "full" },
  ),
};
