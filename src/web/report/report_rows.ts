/**
 * The rows of a report as columns: JSON, deflated, in base64. `report.ts` of the browser reads them.
 *
 * @module
 */
import { nodeZlib } from "../../core/node_modules.ts";
import { compareVersions, shownVersion } from "../../classify/game_versions.ts";
import { parseAddress } from "../../core/address.ts";
import { classedRuns } from "../../core/formatted/mod.ts";
import type { ReportColumns } from "../browser/report_columns.ts";
import { safeText, visibleMotd, visibleName } from "../components/texts.tsx";
import type { ReportedServer } from "./report_data.ts";

/** Maximum length of names, and of other texts, UTF-16 units. */
const MAX_NAME = 150;
const MAX_TEXT = 60;
const MINUTE_MS = 60_000;

/** The rows, ordered by address because neighbours compress well, for a data block of HTML. */
export function encodeRows(rows: readonly ReportedServer[], now: number): string {
  const json = new TextEncoder().encode(JSON.stringify(reportColumns(rows, now)));
  return new Uint8Array(nodeZlib().deflateRawSync(json, { level: 9 })).toBase64();
}

/** The columns of rows. Texts are harmless, and shortened. */
export function reportColumns(servers: readonly ReportedServer[], now: number): ReportColumns {
  const rows = servers.map((server) => ({ server, address: parseAddress(server.host) }))
    .sort((a, b) => compare(a, b) || a.server.port - b.server.port);
  const codes = new Map<string, number>([["", 0]]);
  const codeOf = (text: string | null) => {
    const key = text === null ? "" : safeText(text, MAX_TEXT);
    const code = codes.get(key) ?? codes.size;
    codes.set(key, code);
    return code;
  };
  const versions = rows.map(({ server }) => codeOf(shownVersion(server)));
  const column = <Value>(value: (server: ReportedServer) => Value) =>
    rows.map(({ server }) => value(server));
  return {
    hosts: hostsOf(rows),
    ports: column(({ port }) => port),
    online: column(({ online }) => Number(online)),
    names: column(nameOf),
    players: column(({ players_online: players }) => players),
    slots: column(({ players_max: slots }) => slots),
    versions,
    software: column(({ software }) => codeOf(software)),
    editions: column(({ edition }) => codeOf(edition)),
    countries: column(({ country }) => codeOf(country)),
    operators: column(({ operator }) => codeOf(operator)),
    protocols: column(({ protocols }) => codeOf(protocols.join(" "))),
    ages: column(({ probed_at: at }) => Math.max(0, Math.round((now - at) / MINUTE_MS))),
    latencies: column(({ latency_ms: ms }) => ms === null ? null : tenths(ms)),
    texts: [...codes.keys()],
    versionOrder: inReleaseOrder(new Set(versions), [...codes.keys()]),
  };
}

/** The numbers of texts with versions, the oldest version first. */
function inReleaseOrder(versions: ReadonlySet<number>, texts: readonly string[]): number[] {
  return [...versions].filter((code) => code !== 0)
    .sort((a, b) => compareVersions(texts[a], texts[b]));
}

/** A row with its address; `undefined`: the host is a name. */
interface Row {
  readonly server: ReportedServer;
  readonly address: number | bigint | undefined;
}

/** IPv4 addresses come first. */
function compare(a: Row, b: Row): number {
  const isV4 = (row: Row) => typeof row.address === "number";
  if (isV4(a) !== isV4(b)) return isV4(a) ? -1 : 1;
  const [left, right] = isV4(a) ? [a.address!, b.address!] : [a.server.host, b.server.host];
  return left < right ? -1 : Number(left > right);
}

function hostsOf(rows: readonly Row[]): (number | string)[] {
  let before = 0;
  return rows.map(({ server, address }) => {
    if (typeof address !== "number") return safeText(server.host, MAX_TEXT);
    const difference = address - before;
    before = address;
    return difference;
  });
}

/** The MOTD of a server, or its name: see {@linkcode ReportColumns.names}. */
function nameOf({ name, motd }: ReportedServer): string {
  const label = visibleName(name);
  if (label === undefined) return "";
  const runs = visibleMotd(motd, MAX_NAME);
  if (runs === undefined) return safeText(label, MAX_NAME);
  return classedRuns(runs).map(({ text, classes }) => {
    const letters = classes.split(" ").filter((one) => /^mc-[0-9a-z]$/.test(one))
      .map((one) => one.slice(3)).join("");
    return letters === "" ? text : `${letters}\t${text}`;
  }).join("\r");
}

/** A latency in tenths of a millisecond; from 10 ms on, in whole milliseconds. */
function tenths(ms: number): number {
  return ms < 10 ? Math.round(10 * ms) : 10 * Math.round(ms);
}
