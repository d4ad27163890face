/**
 * What the forms of all status services need to know of a server.
 *
 * @module
 */
import { protocolReleases, versionsWith } from "../../classify/game_versions.ts";
import type { FactValue, Plugin } from "../../core/record.ts";
import { namesIn } from "../../targets/requested_names.ts";
import type { Service } from "../../targets/srv.ts";
import type { StatusQuery, StoredStatus } from "../queries/dashboard_data.ts";
import type { ListedServer } from "../queries/schemas.ts";
import type { TextOptions } from "./formatted_texts.ts";
import type { StatusAddress } from "./status_address.ts";

/** How long a status counts as fresh: one minute, as both services say. */
export const FRESH_MS = 60_000;

/** The columns of a server that documents need. */
export type StatusServer = Pick<
  ListedServer,
  | "host"
  | "port"
  | "requested_as"
  | "online"
  | "seen_at"
  | "probed_at"
  | "edition"
  | "protocols"
  | "motd"
  | "version"
  | "protocol_version"
  | "players_online"
  | "players_max"
  | "players"
  | "software"
  | "plugins"
  | "map"
  | "gamemode"
  | "guid"
  | "extras"
>;

/** A server, and its icon; null: none. */
export interface ShownServer extends Pick<StoredStatus, "uptime"> {
  readonly server: StatusServer;
  readonly icon: Uint8Array | null;
  /** The UUIDs of players by their names. Default: none is known. */
  readonly uuids?: ReadonlyMap<string, string>;
}

/** A status that was found for clients, and not read from the database. */
export interface SharedStatus {
  /** When it was found, and until when it is shared, Unix milliseconds. */
  readonly retrievedAt: number;
  readonly expiresAt: number;
  /** Whether an earlier request has caused it. */
  readonly isShared: boolean;
}

/** A request for a status, and what was found. */
export interface StatusAnswer {
  readonly address: StatusAddress;
  readonly query: StatusQuery;
  /** `undefined`: the database does not have the server, or the name leads nowhere. */
  readonly found: ShownServer | undefined;
  /** The times of a status that was found for clients. Default: it is from the database. */
  readonly fresh?: SharedStatus;
  /** Whether the names of players are shown. */
  readonly hasNames: boolean;
  /** The time of the request, Unix milliseconds. */
  readonly now: number;
}

/**
 * The server, if it is online and has published a status: a server that only refuses connections has none.
 */
export function onlineServer({ found }: StatusAnswer): StatusServer | undefined {
  if (found === undefined || !found.server.online) return undefined;
  const { motd, version, protocol_version: number, players_online: players } = found.server;
  return [motd, version, number, players].every((one) => one === null) ? undefined : found.server;
}

/**
 * When the server was last probed, Unix milliseconds. For a server that the database does not have, the
 * start of the current minute, so that equal answers stay equal.
 */
export function retrievedAt({ found, fresh, now }: StatusAnswer): number {
  return fresh?.retrievedAt ?? found?.server.probed_at ?? now - now % FRESH_MS;
}

/** Until when a status counts as fresh, Unix milliseconds. */
export function expiresAt(answer: StatusAnswer): number {
  return answer.fresh?.expiresAt ?? retrievedAt(answer) + FRESH_MS;
}

/** Whether the request has caused no probe, and there is a status. */
export function isCacheHit({ found, fresh }: StatusAnswer): boolean {
  return fresh?.isShared ?? found !== undefined;
}

/** How long anybody may keep an answer, seconds. */
export function freshForS(answer: StatusAnswer): number {
  if (answer.fresh === undefined) return FRESH_MS / 1000;
  return Math.max(1, Math.floor((answer.fresh.expiresAt - answer.now) / 1000));
}

/** The host and port of the SRV record that led to a server; `undefined`: none did. */
export function serviceOf({ found }: StatusAnswer): Service | undefined {
  const requestedAs = found?.server.requested_as ?? null;
  return requestedAs === null ? undefined : namesIn(requestedAs).service?.service;
}

/** The address of a server without the zone; `undefined`: the request has a name of no server. */
export function ipOf({ address, found }: StatusAnswer): string | undefined {
  return found?.server.host.split("%")[0] ?? (address.isName ? undefined : address.host);
}

/** A fact of a protocol by its name, whichever protocol has it. */
function factOf({ extras }: StatusServer, name: string): FactValue | undefined {
  return Object.values(extras ?? {}).find((facts) => Object.hasOwn(facts, name))?.[name];
}

/** The number of a Bedrock server in its advertisement, which need not be its GUID; null: none. */
export function bedrockId(server: StatusServer): string | null {
  const id = factOf(server, "server_id");
  return typeof id === "string" ? id : null;
}

/** The MOTD of a Bedrock server with its second line in the game's list; null: it has none. */
export function bothLines(server: StatusServer): string | null {
  const level = factOf(server, "level");
  const lines = [server.motd, typeof level === "string" && level.trim() !== "" ? level : null]
    .filter((line) => line !== null);
  return lines.length === 0 ? null : lines.join("\n");
}

/** Whether the columns of a server are those of its reply in an edition, and not in the other one. */
function isMainEdition({ edition }: StatusServer, wanted: StatusQuery["edition"]): boolean {
  return edition === null || (edition === "java") === (wanted === "java");
}

/** How the MOTD of a server is read: a style holds beyond a line end if the server sent components. */
export function motdOptions(server: StatusServer, { query }: StatusAnswer): TextOptions {
  const form = factOf(server, "motd_form") ?? "string";
  return { dialect: query.edition, keepsStyle: form !== "string" };
}

/** The protocol number of the game; null: unknown. */
export function protocolNumber(server: StatusServer, { query }: StatusAnswer): number | null {
  return isMainEdition(server, query.edition) ? server.protocol_version : null;
}

/** The newest release with a protocol number; `undefined`: none is known. */
export function releaseName(number: number, { query }: StatusAnswer): string | undefined {
  return protocolReleases(query.edition).get(number)?.at(-1);
}

/** The version as the server writes it, with formatting codes, else as its number says; null: unknown. */
export function versionName(server: StatusServer, answer: StatusAnswer): string | null {
  const { edition } = answer.query;
  const written = edition === "java" ? factOf(server, "version_name") : undefined;
  if (typeof written === "string") return written;
  const version = isMainEdition(server, edition) ? server.version : null;
  return version ?? versionsWith(edition, protocolNumber(server, answer)) ?? null;
}

/** Plugins or mods, with an empty text for an unknown version. */
export function withVersions(list: readonly Plugin[] | null): { name: string; version: string }[] {
  return (list ?? []).map(({ name, version }) => ({ name, version: version ?? "" }));
}

/** The names of players, or lines of text in place of them. */
export interface PlayerSample {
  readonly names: readonly string[];
  readonly lines: readonly string[];
}

/** The UUID of a player; empty: unknown. */
export function uuidOf(name: string, { found }: StatusAnswer): string {
  return found?.uuids?.get(name) ?? "";
}

/** The sample of players of a server. A sample with formatting codes is text. */
export function sampleOf({ players }: StatusServer, { hasNames }: StatusAnswer): PlayerSample {
  const sample = hasNames ? players ?? [] : [];
  return sample.some((one) => one.includes("§"))
    ? { names: [], lines: sample }
    : { names: sample, lines: [] };
}

/** The icon as a data URL; null: none. */
export function iconUrl({ found }: StatusAnswer): string | null {
  const icon = found?.icon ?? null;
  return icon === null ? null : `data:image/png;base64,${icon.toBase64()}`;
}
