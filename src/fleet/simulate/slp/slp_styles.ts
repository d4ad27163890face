/**
 * How each software answers Server List Ping, and what a correct reader makes of it. The
 * expectations are written from the software's habits, by no decoder.
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

/** A PNG of one pixel. */
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E" +
  "rkJggg==";
const ICON: NonNullable<SlpShape["icon"]> = {
  url: `data:image/png;base64,${PIXEL}`,
  hash: "6b7fa434f92a8b80aab02d9bf1a12e49ffcae424e4013a1c4f68b67e3d2bbcd0",
  size: 70,
};
/** As before 1.13, with a line end after each 76 letters. */
const ICON_IN_LINES = { ...ICON, url: ICON.url.replace(/(.{76})/, "$1\n") };
/** The start of a PNG and zeros, 999,999 bytes in all. */
const HUGE_ICON = {
  hash: "97b3c2b9990f12dc189af168f7ab756135b22eb6a903410745ba30c248d41154",
  size: 999_999,
};

/** Vanilla's order since 1.19.4, and until then. */
const ORDER = ["version", "description", "players"];
const OLD_ORDER = ["description", "players", "version"];
/** The order of proxies. */
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

/** The styles, by software. */
export const SLP_STYLES: Record<string, SlpStyle> = {
  /** Vanilla since 1.19.4. */
  vanilla: statusStyle({
    order: [...ORDER, "favicon", "enforcesSecureChat"],
    icon: ICON,
    switches: SECURE,
  }),
  /** Vanilla until 1.19.3, with the switch of 1.19. */
  vanillaOld: statusStyle({
    order: [...OLD_ORDER, "previewsChat", "enforcesSecureChat"],
    switches: { previewsChat: false, ...SECURE },
  }),
  /** Vanilla of before 1.9: the description is a text. */
  vanillaString: statusStyle({ order: OLD_ORDER, description: STRING_MOTD }),
  /** Paper: vanilla's serialiser, its name before the version, a MOTD of many components. */
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
  /** Velocity: an order of its own, its range of versions, the client's protocol where it can. */
  velocity: statusStyle({
    order: PROXY_ORDER,
    brand: "Velocity",
    version: "1.7.2-1.21.4",
    protocol: { most: 769 },
    legacyProtocol: 769,
    icon: ICON,
  }),
  /** BungeeCord. */
  bungeecord: statusStyle({
    order: PROXY_ORDER,
    brand: "BungeeCord",
    version: "1.8.x-1.21.x",
    protocol: { most: 769 },
    icon: ICON,
  }),
  /** Waterfall: each version by name. */
  waterfall: statusStyle({
    order: PROXY_ORDER.slice(0, 3),
    brand: "Waterfall",
    version: "1.8.x, 1.9.x, 1.20.x",
    protocol: { most: 765 },
  }),
  /** Forge until 1.12, with an icon in lines. */
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
  /** Forge since 1.13. */
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
  /** Forge since 1.18.1: all of it in one text. */
  forge118: statusStyle({
    order: [...OLD_ORDER, "forgeData"],
    version: "1.18.2",
    rest: {
      forgeData: { channels: [], mods: [], truncated: true, fmlNetworkVersion: 3, d: PACKED },
    },
    facts: mods("packed", "3", 2, { create: "0.5.1.f", spark: "" }),
  }),
  /** Forge with Better Compatibility Checker: a second JSON behind the first. */
  forgeMore: statusStyle({ order: OLD_ORDER, version: "1.18.2", flags: ["trailingBytes"] }, {
    more: '{"projectID":1,"name":"Pack","version":"2"}',
  }),
  /** NeoForge. */
  neoforge: statusStyle({
    order: [...ORDER, "isModded"],
    version: "1.21.1",
    description: STRING_MOTD,
    rest: { isModded: true },
    facts: { mods_form: "isModded" },
  }),
  /** Cuberite: keys in the order of the alphabet. */
  cuberite: statusStyle({
    order: ["description", "favicon", "players", "version"],
    brand: "Cuberite",
    version: "1.7.2-1.12.2",
    icon: ICON,
    sample: "never",
  }),
  /** Minestom: a list of players even when it is empty. */
  minestom: statusStyle({ order: ["version", "players", "description"], sample: "always" }),
  /** node-minecraft-protocol: an empty list of players, whoever plays. */
  nodeMinecraftProtocol: statusStyle({
    order: ["version", "players", "description"],
    sample: "empty",
  }),
  /** Vanilla with `hide-online-players`, and plugins that hide the counts too. */
  hiddenPlayers: statusStyle({ order: ORDER, hidden: true }),
  /** A MOTD that is a list of components, the first of them the parent of the others. */
  componentMotd: statusStyle({
    order: ORDER,
    description: {
      json: ({ plain }) => [{ text: "[", color: "red", italic: "true" }, plain, { "": "]" }, 7],
      motd: ({ plain }) => ({ text: `§c§o[${plain}]7`, plain: `[${plain}]7` }),
      form: "array",
    },
  }),
  /** A MOTD that is a translation which only the game knows, with a fallback. */
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
  /** An icon as large as a status can hold. */
  hugeFavicon: statusStyle({
    order: [...ORDER, "favicon"],
    icon: {
      ...HUGE_ICON,
      // Made where it is used: a fleet does not keep it.
      get url() {
        return `data:image/png;base64,iVBORw0KGgo${"A".repeat(HUGE_ICON.size / 3 * 4 - 11)}`;
      },
    },
  }),
  /** A server that wants to know who asks. */
  wantsProtocol: statusStyle({ order: ORDER }, { closesOn: [-1] }),
  /** quarry: a server of 1.8 that closes on clients of versions that it does not know. */
  quarry: statusStyle(
    { order: PROXY_ORDER.slice(0, 3), version: "1.8.9" },
    { closesOn: [-1, 765] },
  ),
  /** bareiron: a version and a description, written as one text, and no players. */
  bareiron: statusStyle({
    order: ["version", "description"],
    version: "1.21.8",
    hidden: true,
  }),
  /** A server that is starting: the reason of a disconnect where the status should be. */
  disconnects: {
    status: () => '{"text":"Server is ","extra":[{"text":"starting","color":"red"}]}',
    truth: () => ({
      columns: { edition: "java" },
      flags: ["disconnected"],
      facts: { form: "disconnect", reason: "Server is starting" },
    }),
  },
  /** A server of Beta 1.8 to 1.3: whatever the ping, the same answer. */
  beta18: {
    status: "kicks",
    beta: true,
    legacy: legacyStatus(null, null),
    truth: legacyTruth("beta", null, null),
  },
  /** A server of 1.4 and 1.5. */
  java14: {
    status: "closes",
    legacy: legacyStatus("1.4.7", 51),
    truth: legacyTruth("1.4", "1.4.7", 51),
  },
  /** A server of 1.6. */
  java16: {
    status: "kicks",
    legacy: legacyStatus("1.6.4", 78),
    truth: legacyTruth("1.4", "1.6.4", 78),
  },
  /** A server of 1.6 whose kick of a modern client takes more than 255 letters. */
  longKick: {
    status: "kicks",
    kick: "This server takes clients of 1.6 alone. ".repeat(8),
    legacy: legacyStatus("1.6.4", 78),
    truth: legacyTruth("1.4", "1.6.4", 78),
  },
  /** A server of before 1.7 that is full: a kick without a status, whatever is asked. */
  kicksOnly: {
    status: "kicks",
    truth: () => ({
      columns: { edition: "java" },
      flags: ["disconnected"],
      facts: { form: "kick", reason: "Protocol error" },
    }),
  },
};
