/**
 * The documents of mcsrvstat.us, versions 2 and 3: an unknown member is absent.
 *
 * @module
 */
import { hasOwnPort } from "../../protocols/list.ts";
import { modsOf } from "../components/server_facts.tsx";
import { textLines } from "./formatted_texts.ts";
import {
  bedrockId,
  expiresAt,
  iconUrl,
  ipOf,
  isCacheHit,
  motdOptions,
  onlineServer,
  protocolNumber,
  releaseName,
  retrievedAt,
  sampleOf,
  serviceOf,
  type StatusAnswer,
  type StatusServer,
  uuidOf,
  versionName,
  withVersions,
} from "./server_facts.ts";
import type { Mcsrvstat2, Mcsrvstat3 } from "./status_schemas.ts";

/** What the service has as the address of a name without one. */
const NO_ADDRESS = "127.0.0.1";
const NO_LOOKUP = "DNS lookup failed, no IP detected.";

type Common = Omit<Mcsrvstat3 & Mcsrvstat2, "protocol" | "map" | "players" | "plugins" | "mods">;

/** The document for a text that is no address: that of a name without an address. */
export function invalidMcsrvstat(answer: Omit<StatusAnswer, "address">, version: 2 | 3): Common {
  const address = { host: NO_ADDRESS, isName: true, port: undefined };
  const { hostname: _, ...rest } = commonOf({ ...answer, address }, version);
  return rest;
}

/** The document of version 3. */
export function mcsrvstat3(answer: StatusAnswer): Mcsrvstat3 {
  const common = commonOf(answer, 3);
  const server = onlineServer(answer);
  if (server === undefined) return common;
  const { names } = sampleOf(server, answer);
  const number = protocolNumber(server, answer);
  const release = number === null ? undefined : releaseName(number, answer);
  const plugins = withVersions(server.plugins);
  const mods = withVersions(modsOf(server));
  return {
    ...common,
    ...onlinePart(server, answer),
    ...number !== null && {
      protocol: { version: number, ...release !== undefined && { name: release } },
    },
    ...server.map !== null && { map: oneLine(server.map, answer) },
    players: {
      ...counts(server),
      ...names.length > 0 && { list: names.map((name) => ({ name, uuid: uuidOf(name, answer) })) },
    },
    ...plugins.length > 0 && { plugins },
    ...mods.length > 0 && { mods },
  };
}

/** The document of version 2. */
export function mcsrvstat2(answer: StatusAnswer): Mcsrvstat2 {
  const common = commonOf(answer, 2);
  const server = onlineServer(answer);
  if (server === undefined) return common;
  const { names } = sampleOf(server, answer);
  const number = protocolNumber(server, answer);
  const plugins = withVersions(server.plugins);
  const mods = withVersions(modsOf(server));
  return {
    ...common,
    ...onlinePart(server, answer),
    ...number !== null && { protocol: number },
    ...server.map !== null && { map: server.map },
    players: {
      ...counts(server),
      ...names.length > 0 && { list: names, ...uuidsOf(names, answer) },
    },
    ...plugins.length > 0 && { plugins: namesAndTexts(plugins) },
    ...mods.length > 0 && { mods: namesAndTexts(mods) },
  };
}

/** The UUIDs of players by name, as version 2 has them, if any is known. */
function uuidsOf(names: readonly string[], answer: StatusAnswer) {
  const known = names.map((name) => [name, uuidOf(name, answer)]).filter(([, uuid]) => uuid !== "");
  return known.length > 0 && { uuid: Object.fromEntries(known) as Record<string, string> };
}

/** What both versions have of each server, online or not. */
function commonOf(answer: StatusAnswer, version: 2 | 3): Common {
  const { address, query, found } = answer;
  const service = serviceOf(answer);
  const ip = ipOf(answer);
  const protocols = onlineServer(answer)?.protocols ?? [];
  return {
    online: onlineServer(answer) !== undefined,
    ip: ip ?? NO_ADDRESS,
    port: found?.server.port ?? query.port,
    ...address.isName && { hostname: service?.host ?? address.host },
    debug: {
      ping: protocols.some((protocol) => !hasOwnPort(protocol)),
      query: protocols.some(hasOwnPort),
      bedrock: query.edition === "bedrock",
      srv: service !== undefined,
      querymismatch: false,
      ipinsrv: false,
      cnameinsrv: false,
      animatedmotd: false,
      cachehit: isCacheHit(answer),
      cachetime: Math.floor(retrievedAt(answer) / 1000),
      cacheexpire: Math.floor(expiresAt(answer) / 1000),
      apiversion: version,
      ...errorOf(answer, ip),
    },
  };
}

/** Why a server counts as offline. */
function errorOf(answer: StatusAnswer, ip: string | undefined) {
  if (onlineServer(answer) !== undefined) return {};
  if (ip === undefined) return { error: { ip: NO_LOOKUP } };
  const ping = answer.found === undefined
    ? "The server is not in the database."
    : "The server has not replied with a status.";
  return { error: { ping } };
}

/** What both versions have of a server that is online. */
function onlinePart(server: StatusServer, answer: StatusAnswer) {
  const { gamemode, software, motd } = server;
  const isBedrock = answer.query.edition === "bedrock";
  const id = bedrockId(server);
  const version = versionName(server, answer);
  const icon = iconUrl(answer);
  const { lines } = sampleOf(server, answer);
  const options = { dialect: answer.query.edition };
  return {
    motd: textLines(motd ?? "", motdOptions(server, answer)),
    ...version !== null && { version: textLines(version, options).clean.join(" ") },
    ...icon !== null && { icon },
    ...software !== null && { software },
    ...isBedrock && gamemode !== null && { gamemode },
    ...isBedrock && id !== null && { serverid: id },
    ...!isBedrock && { eula_blocked: false },
    ...lines.length > 0 && { info: textLines(lines.join("\n"), options) },
  };
}

/** The numbers of players. The service has no word for an unknown number. */
function counts({ players_online: online, players_max: max }: StatusServer) {
  return { online: online ?? 0, max: max ?? 0 };
}

function oneLine(text: string, { query }: StatusAnswer) {
  const { raw, clean, html } = textLines(text, { dialect: query.edition });
  return { raw: raw.join("\n"), clean: clean.join("\n"), html: html.join("\n") };
}

function namesAndTexts(items: readonly { readonly name: string; readonly version: string }[]) {
  return {
    names: items.map(({ name }) => name),
    raw: items.map(({ name, version }) => version === "" ? name : `${name} ${version}`),
  };
}
