/**
 * Describes a server in lines of text.
 *
 * @module
 */
import { formatAnsi, parseFormatted } from "../../core/formatted/mod.ts";
import { serverId, type ServerRecord } from "../../core/record.ts";
import { PROTOCOLS } from "../../protocols/list.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { harmlessText } from "../../core/text.ts";
import { isDumb } from "./console.ts";

/** Whether to use colours on standard output. */
export function useColor(noColor: boolean): boolean {
  return !noColor && !Deno.noColor && Deno.stdout.isTerminal() && !isDumb();
}

/** Styles of text in a terminal, and their parameters of the escape sequence SGR (ECMA-48, 8.3.117). */
const STYLES = { bold: 1, dim: 2 };

/** A style of text in a terminal. */
export type TextStyle = keyof typeof STYLES;

/** A text in a style; the end of the text ends both styles. */
export function paintText(style: TextStyle, text: string): string {
  return `\x1b[${STYLES[style]}m${text}\x1b[22m`;
}

/** The lines that describe a server. All text of the server is escaped. */
export function describe(
  record: ServerRecord,
  color: boolean,
  allProtocols: readonly Protocol[] = PROTOCOLS,
): string[] {
  const paint = (style: TextStyle, text: string) => color ? paintText(style, text) : text;
  const rows: [string, string | null][] = [
    ["edition", record.edition],
    ["software", softwareText(record)],
    ["proxy", record.proxy],
    ["version", versionText(record)],
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
  if (record.name !== null) shown.unshift(["name", nameText(record, color)]);
  return [title, ...shown.map(([name, text]) => `  ${paint("dim", name.padEnd(10))} ${text}`)];
}

/** The name, in the colours of the MOTD. */
function nameText({ name, motd, edition }: ServerRecord, color: boolean): string {
  if (!color || motd === null) return harmlessText(name!);
  const dialect = edition === "bedrock" ? edition : "java";
  return formatAnsi(parseFormatted(motd.trim(), { dialect }), "256");
}

function versionText({ version, protocol_version: protocol }: ServerRecord): string | null {
  return protocol === null ? version : `${version ?? "?"} (protocol ${protocol})`;
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
