/**
 * Describes a server in lines of text.
 *
 * @module
 */
import { cutWidth, displayWidth } from "../../core/display_width.ts";
import { formatAnsi, parseFormatted, type TextRun } from "../../core/formatted/mod.ts";
import { serverId, type ServerRecord } from "../../core/record.ts";
import type { versionsWith } from "../../classify/game_versions.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { harmlessText } from "../../core/text.ts";
import { isDumb } from "./console.ts";

/** Whether to use colours on a stream. Default: standard output. */
export function useColor(noColor: boolean, to: { isTerminal(): boolean } = Deno.stdout): boolean {
  return !noColor && !Deno.noColor && to.isTerminal() && !isDumb();
}

/** Styles of text in a terminal, and their parameters of the escape sequence SGR (ECMA-48, 8.3.117). */
const STYLES = { bold: 1, dim: 2 };

/** A style of text in a terminal. */
export type TextStyle = keyof typeof STYLES;

/** Names the versions with a protocol number: loaded only where rows are described. */
type VersionsWith = typeof versionsWith;

/** A text in a style; the end of the text ends both styles. */
export function paintText(style: TextStyle, text: string): string {
  return `\x1b[${STYLES[style]}m${text}\x1b[22m`;
}

/**
 * The lines that describe a server. All text of the server is escaped.
 *
 * @param versionsWith The names of the versions with a protocol number.
 */
export function describe(
  record: ServerRecord,
  color: boolean,
  allProtocols: readonly Protocol[],
  versionsWith: VersionsWith,
): string[] {
  const paint = (style: TextStyle, text: string) => color ? paintText(style, text) : text;
  const rows: [string, string | null][] = [
    ["edition", record.edition],
    ["software", softwareText(record)],
    ["proxy", record.proxy],
    ["version", versionText(record, versionsWith)],
    ["map", record.map],
    ["game mode", record.gamemode],
    ["players", playersText(record)],
    [
      "plugins",
      record.plugins &&
      record.plugins.map(({ name, version }) => version === null ? name : `${name} ${version}`)
        .join(", "),
    ],
    ["latency", record.latency_ms === null ? null : `${record.latency_ms.toFixed(1)} ms`],
    ["guid", record.guid],
    ["joinable", joinableText(record, allProtocols)],
    ["alias of", record.alias_of],
    ["flags", record.flags.join(", ")],
  ];
  const title = `${paint("bold", serverId(record))}  ${record.protocols.join(", ")}` +
    (record.requested_as === null ? "" : `  (${harmlessText(record.requested_as)})`);
  const known = rows.filter(([, text]) => text !== null && text !== "");
  const shown = known.map(([name, text]) => [name, harmlessText(text!)]);
  if (record.name !== null) shown.unshift(["name", coloredName(record, color)]);
  return [title, ...shown.map(([name, text]) => `  ${paint("dim", name.padEnd(10))} ${text}`)];
}

/** The name, in the colours of the MOTD, on one line. A wider text is cut. */
export function coloredName(
  { name, motd, edition }: ServerRecord,
  color: boolean,
  columns: number = Infinity,
): string {
  if (!color || motd === null) {
    const text = harmlessText(name ?? "");
    return columns === Infinity ? text : cutWidth(text, columns);
  }
  const dialect = edition === "bedrock" ? edition : "java";
  const runs = parseFormatted(motd.trim(), { dialect });
  return formatAnsi(columns === Infinity ? runs : cutRuns(runs, columns), "256");
}

/** The start of a formatted text that fits some columns. */
function cutRuns(runs: readonly TextRun[], columns: number): TextRun[] {
  const fitting: TextRun[] = [];
  let left = columns;
  for (const { text, style } of runs) {
    const shown = harmlessText(text.replace(/\s+/g, " "));
    fitting.push({ text: cutWidth(shown, left), style });
    left -= displayWidth(shown);
    if (left <= 0) break;
  }
  return fitting;
}

/** A version that is only known by the protocol number stands behind the number. */
function versionText(
  { edition, version, protocol_version: protocol }: ServerRecord,
  versionsWith: VersionsWith,
): string | null {
  if (protocol === null) return version;
  if (version !== null) return `${version} (protocol ${protocol})`;
  const names = versionsWith(edition, protocol);
  return `protocol ${protocol}${names === undefined ? "" : `, which is ${names}`}`;
}

function softwareText({ software, software_confidence: sure }: ServerRecord): string | null {
  return software === null || sure === null ? software : `${software} (${SURE[sure]})`;
}

const SURE: Readonly<Record<string, string>> = {
  A: "stated by the server",
  B: "inferred from its replies",
  C: "uncertain",
};

function playersText(
  { players_online: online, players_max: max, players }: ServerRecord,
): string | null {
  if (online === null && max === null) return null;
  const names = players === null || players.length === 0 ? "" : `: ${players.join(", ")}`;
  return `${online ?? "?"} of ${max ?? "?"}${names}`;
}

/** The result of `--verify`. */
function joinableText(record: ServerRecord, allProtocols: readonly Protocol[]): string | null {
  const { joinable, protocols } = record;
  if (joinable === null) return null;
  const agreed = allProtocols.filter(({ name }) => protocols.includes(name))
    .flatMap(({ verify }) => verify?.summary(record) ?? []);
  return `${joinable ? "yes" : "no"}${agreed.length === 0 ? "" : `: ${agreed.join(", ")}`}`;
}
