/**
 * The Server List Ping behaviour of each software, and what a correct scanner reads. Expected values are
 * written by hand, not produced by a decoder.
 *
 * @module
 */
import { encodePacked } from "../../../protocols/slp/mod.ts";
import {
  legacyStatus,
  legacyTruth,
  type SlpShape,
  statusStyle,
  STRING_MOTD,
} from "./status_shape.ts";
import type { SlpStyle } from "./slp_replies.ts";

/** A PNG image of one pixel, base64. */
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E" +
  "rkJggg==";
const ICON: NonNullable<SlpShape["icon"]> = {
  url: `data:image/png;base64,${PIXEL}`,
  hash: "6b7fa434f92a8b80aab02d9bf1a12e49ffcae424e4013a1c4f68b67e3d2bbcd0",
  size: 70,
};
/** The icon in the form before 1.13, with a line break after each 76 characters. */
const ICON_IN_LINES = { ...ICON, url: ICON.url.replace(/(.{76})/, "$1\n") };
/** An icon of 999,999 bytes: the start of a PNG and zeros. */
const HUGE_ICON = {
  hash: "97b3c2b9990f12dc189af168f7ab756135b22eb6a903410745ba30c248d41154",
  size: 999_999,
};

/** Vanilla's order of keys since 1.19.4 (ORDER), and before (OLD_ORDER). */
const ORDER = ["version", "description", "players"];
const OLD_ORDER = ["description", "players", "version"];
/** The order of keys of proxies. */
const PROXY_ORDER = ["version", "players", "description", "favicon"];
const SECURE = { enforcesSecureChat: true };

const mods = (form: string, loader: string, channels: number, list: Record<string, string>) => ({
  mods_form: form,
  mods_loader: loader,
  mods_count: Object.keys(list).length,
  mods_channels: channels,
  mods: list,
});

const PACKED = encodePacked({
  truncated: false,
  mods: [
    {
      id: "create",
      version: "0.5.1.f",
      channels: [{ name: "main", version: "3", required: true }],
    },
    { id: "spark", version: null, channels: [] },
  ],
  channels: [{ name: "fml:handshake", version: "FML3", required: true }],
});

/** Server List Ping behaviour by software. */
export const SLP_STYLES: Record<string, SlpStyle> = {
  /** The vanilla server since 1.19.4. */
  vanilla: statusStyle({
    order: [...ORDER, "favicon", "enforcesSecureChat"],
    icon: ICON,
    switches: SECURE,
  }),
  /** Vanilla until 1.19.3, with the key `previewsChat` of 1.19. */
  vanillaOld: statusStyle({
    order: [...OLD_ORDER, "previewsChat", "enforcesSecureChat"],
    switches: { previewsChat: false, ...SECURE },
  }),
  /** Vanilla before 1.9: the description is a JSON string. */
  vanillaString: statusStyle({ order: OLD_ORDER, description: STRING_MOTD }),
  /** Paper: an additional key, its name before the version, a MOTD of many components. */
  paper: statusStyle({
    order: [...ORDER, "enforcesSecureChat"],
    brand: "Paper",
    switches: SECURE,
    description: {
      json: ({ plain }) => ({
        text: "",
        bold: true,
        extra: [
          { text: plain.slice(0, 3), color: "#FF8800" },
          { text: plain.slice(3), bold: false, color: "gold" },
        ],
      }),
      motd: ({ plain }) => ({
        text: `§x§f§f§8§8§0§0§l${plain.slice(0, 3)}§6${plain.slice(3)}`,
        plain,
      }),
      form: "object",
    },
  }),
  /** Velocity: a different key order, a range of versions, the client's protocol when supported. */
  velocity: statusStyle({
    order: PROXY_ORDER,
    brand: "Velocity",
    version: "1.7.2-1.21.4",
    protocol: { most: 769 },
    legacyProtocol: 769,
    icon: ICON,
  }),
  /** BungeeCord: the key order of proxies. */
  bungeecord: statusStyle({
    order: PROXY_ORDER,
    brand: "BungeeCord",
    version: "1.8.x-1.21.x",
    protocol: { most: 769 },
    icon: ICON,
  }),
  /** Waterfall: a list of supported versions as the version name. */
  waterfall: statusStyle({
    order: PROXY_ORDER.slice(0, 3),
    brand: "Waterfall",
    version: "1.8.x, 1.9.x, 1.20.x",
    protocol: { most: 765 },
  }),
  /** Forge until 1.12, with an icon in lines of 76 characters. */
  forge112: statusStyle({
    order: [...OLD_ORDER, "favicon", "modinfo"],
    version: "1.12.2",
    icon: ICON_IN_LINES,
    rest: {
      modinfo: {
        type: "FML",
        modList: [{ modid: "minecraft", version: "1.12.2" }, { modid: "FML", version: "8.0.99" }],
      },
    },
    facts: mods("modinfo", "FML", 0, { minecraft: "1.12.2", FML: "8.0.99" }),
  }),
  /** Forge since 1.13: mods as a list. */
  forge113: statusStyle({
    order: [...OLD_ORDER, "forgeData"],
    version: "1.16.5",
    rest: {
      forgeData: {
        channels: [{ res: "forge:tier_sorting", version: "1.0", required: false }],
        mods: [{ modId: "minecraft", modmarker: "1.16.5" }, { modId: "spark", modmarker: "ANY" }],
        fmlNetworkVersion: 2,
      },
    },
    facts: mods("forgeData", "2", 1, { minecraft: "1.16.5", spark: "" }),
  }),
  /** Forge since 1.18.1: mods packed into one text. */
  forge118: statusStyle({
    order: [...OLD_ORDER, "forgeData"],
    version: "1.18.2",
    rest: {
      forgeData: { channels: [], mods: [], truncated: true, fmlNetworkVersion: 3, d: PACKED },
    },
    facts: mods("packed", "3", 2, { create: "0.5.1.f", spark: "" }),
  }),
  /** Forge with Better Compatibility Checker: a second JSON text after the first. */
  forgeMore: statusStyle({ order: OLD_ORDER, version: "1.18.2", flags: ["trailingBytes"] }, {
    more: '{"projectID":1,"name":"Pack","version":"2"}',
  }),
  /** NeoForge: a boolean key `isModded`. */
  neoforge: statusStyle({
    order: [...ORDER, "isModded"],
    version: "1.21.1",
    description: STRING_MOTD,
    rest: { isModded: true },
    facts: { mods_form: "isModded" },
  }),
  /** Cuberite: keys in alphabetical order. */
  cuberite: statusStyle({
    order: ["description", "favicon", "players", "version"],
    brand: "Cuberite",
    version: "1.7.2-1.12.2",
    icon: ICON,
    sample: "never",
  }),
  /** Minestom: a list of players even when no player is online. */
  minestom: statusStyle({ order: ["version", "players", "description"], sample: "always" }),
  /** node-minecraft-protocol: an empty list of players, also when players are online. */
  nodeMinecraftProtocol: statusStyle({
    order: ["version", "players", "description"],
    sample: "empty",
  }),
  /** Vanilla with `hide-online-players` and a plugin that hides the counts too. */
  hiddenPlayers: statusStyle({ order: ORDER, hidden: true }),
  /** A MOTD as a list of components. The first one is the parent of the others. */
  componentMotd: statusStyle({
    order: ORDER,
    description: {
      json: ({ plain }) => [{ text: "[", color: "red", italic: "true" }, plain, { "": "]" }, 7],
      motd: ({ plain }) => ({ text: `§c§o[${plain}]7`, plain: `[${plain}]7` }),
      form: "array",
    },
  }),
  /** A MOTD as a translation key of the game, with a fallback text. */
  translateMotd: statusStyle({
    order: ORDER,
    description: {
      json: ({ plain }) => ({
        translate: "server.motd",
        fallback: "%2$s: %1$s%%",
        with: [{ text: "99", underlined: true }, plain],
      }),
      motd: ({ plain }) => ({ text: `${plain}: §n99§r%`, plain: `${plain}: 99%` }),
      form: "object",
    },
  }),
  /** An icon of the maximum size in a status, which is larger than an icon that is kept. */
  hugeFavicon: statusStyle({
    order: [...ORDER, "favicon"],
    flags: ["badFavicon"],
    icon: {
      ...HUGE_ICON,
      // The icon is created at each use, because a fleet would otherwise keep it in memory.
      get url() {
        return `data:image/png;base64,iVBORw0KGgo${"A".repeat(HUGE_ICON.size / 3 * 4 - 11)}`;
      },
    },
  }),
  /** A server that closes the connection when the protocol number is -1. */
  wantsProtocol: statusStyle({ order: ORDER }, { closesOn: [-1] }),
  /** quarry: closes connections of unknown client versions, and reports the client's version as its own. */
  quarry: statusStyle(
    {
      order: PROXY_ORDER.slice(0, 3),
      version: "1.8.9",
      protocol: { most: 47 },
      flags: ["versionEchoed"],
    },
    { closesOn: [-1, 765] },
  ),
  /** bareiron: a version and a description, no players. */
  bareiron: statusStyle({
    order: ["version", "description"],
    version: "1.21.8",
    hidden: true,
  }),
  /** A starting server: a disconnect reason in place of the status. */
  disconnects: {
    status: () => '{"text":"Server is ","extra":[{"text":"starting","color":"red"}]}',
    truth: () => ({
      columns: { edition: "java" },
      flags: ["disconnected"],
      facts: { form: "disconnect", reason: "Server is starting" },
    }),
  },
  /** A server of Beta 1.8 to 1.3: an equal reply to all legacy pings. */
  beta18: {
    status: "kicks",
    beta: true,
    legacy: legacyStatus(null, null),
    truth: legacyTruth("beta", null, null),
  },
  /** A server of 1.4 or 1.5. */
  java14: {
    status: "closes",
    legacy: legacyStatus("1.4.7", 51),
    truth: legacyTruth("1.4", "1.4.7", 51),
  },
  /** A server of version 1.6. */
  java16: {
    status: "kicks",
    legacy: legacyStatus("1.6.4", 78),
    truth: legacyTruth("1.4", "1.6.4", 78),
  },
  /** A server of 1.6 whose kick of a modern client has more than 255 characters. */
  longKick: {
    status: "kicks",
    kick: "This server takes clients of 1.6 alone. ".repeat(8),
    legacy: legacyStatus("1.6.4", 78),
    truth: legacyTruth("1.4", "1.6.4", 78),
  },
  /** A full server before 1.7: a kick without a status in reply to any ping. */
  kicksOnly: {
    status: "kicks",
    truth: () => ({
      columns: { edition: "java" },
      flags: ["disconnected"],
      facts: { form: "kick", reason: "Protocol error" },
    }),
  },
};
