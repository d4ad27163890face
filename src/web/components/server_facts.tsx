/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * What is known of a server: columns, flags, plugins, facts of protocols, raw replies.
 *
 * @module
 */
import type { Child } from "npm:hono@4.13.19/jsx";
import { versionsWith } from "../../classify/game_versions.ts";
import { GEOIP_FIELDS } from "../../app/geoip/geoip_fields.ts";
import type { Facts, FactValue, Plugin } from "../../core/record.ts";
import { STORED_FIELDS } from "../../store/queries/stored_fields.ts";
import { documentedFlags } from "../../protocols/documented_flags.ts";
import type { StoredReply } from "../queries/dashboard_data.ts";
import type { ListedServer } from "../queries/schemas.ts";
import { Card } from "./blocks.tsx";
import { hexLines } from "./hex_lines.ts";
import { acceptedUrl, scanUrl } from "./links.ts";
import { countText, latencyText } from "./quantities.ts";
import { safeText, Stranger, Time } from "./texts.tsx";

/** Columns that have a part of the page of their own. */
const ELSEWHERE = [
  "players",
  "plugins",
  "flags",
  "extras",
  "host",
  "port",
  "motd_plain",
  "uptime_30d",
  "notes",
];
const TIMES = ["seen_at", "first_seen", "probed_at", "changed_at", "players_at"];

/** All columns of a server that have a value, with their meanings as tooltips. */
export function ServerColumns({ server, hasGeoip }: { server: ListedServer; hasGeoip: boolean }) {
  const fields: readonly { name: string; meaning: string }[] = [
    ...STORED_FIELDS,
    ...hasGeoip ? GEOIP_FIELDS : [],
  ];
  const columns = server as unknown as Readonly<Record<string, unknown>>;
  const known = fields.filter(({ name }) =>
    !ELSEWHERE.includes(name) && columns[name] !== null && columns[name] !== undefined
  );
  return (
    <dl class="facts">
      {known.map(({ name, meaning }) => (
        <>
          <dt title={meaning}>{name.replaceAll("_", " ")}</dt>
          <dd>{columnValue(name, columns[name], server)}</dd>
        </>
      ))}
    </dl>
  );
}

function columnValue(name: string, value: unknown, { edition }: ListedServer): Child {
  if (TIMES.includes(name)) return <Time at={Number(value)} />;
  if (name === "latency_ms") return latencyText(Number(value));
  if (name === "protocol_version") return protocolText(edition, Number(value));
  if (name === "scan_id") {
    return <a href={acceptedUrl(scanUrl(String(value)))}>{safeText(String(value), 40)}</a>;
  }
  if (Array.isArray(value)) return <Stranger text={value.join(", ")} />;
  if (typeof value === "boolean") return value ? "yes" : "no";
  return <Stranger text={String(value)} longest={1000} />;
}

/** A protocol number, and the versions that have it. */
function protocolText(edition: string | null, number: number): string {
  const names = versionsWith(edition, number);
  return names === undefined ? String(number) : `${number} (${names})`;
}

export function Flags({ flags }: { flags: readonly string[] }) {
  const known = documentedFlags();
  return (
    <dl class="flags">
      {flags.slice(0, 50).map((flag) => (
        <>
          <dt>
            <code>{safeText(flag, 40)}</code>
          </dt>
          <dd>
            {known.find(({ name }) => name === flag)?.meaning ?? "not a flag of this version"}
          </dd>
        </>
      ))}
    </dl>
  );
}

/** Maximum number of plugins, and of facts of a protocol, on a page. */
const MAX_ITEMS = 300;

/** The plugins that a server publishes. */
export function Plugins({ plugins }: { plugins: readonly Plugin[] | null }) {
  if (plugins === null || plugins.length === 0) return null;
  return (
    <Card title={`Plugins (${countText(plugins.length)})`}>
      <ul class="names">
        {plugins.slice(0, MAX_ITEMS).map(({ name, version }) => (
          <li>
            <Stranger text={name} longest={80} />
            {version !== null && <small>{` ${safeText(version, 40)}`}</small>}
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** The facts of each protocol that have no column. */
export function FactsByProtocol({ extras }: { extras: Readonly<Record<string, Facts>> | null }) {
  return (
    <>
      {Object.entries(extras ?? {}).slice(0, 20).map(([protocol, facts]) => (
        <Card title={<>Facts by {safeText(protocol, 30)}</>}>
          <dl class="facts">
            {Object.entries(facts).slice(0, MAX_ITEMS).map(([name, value]) => (
              <>
                <dt>{safeText(name, 80)}</dt>
                <dd>{factValue(value)}</dd>
              </>
            ))}
          </dl>
        </Card>
      ))}
    </>
  );
}

function factValue(value: FactValue): Child {
  if (value === null) return <Stranger text={null} />;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "object") return <Stranger text={String(value)} longest={600} />;
  const isTexts = Array.isArray(value) && value.every((one) => typeof one === "string");
  return <Stranger text={isTexts ? value.join(", ") : JSON.stringify(value)} longest={600} />;
}

/** Number of bytes of a reply that a page shows. */
const SHOWN_BYTES = 4096;

/** The raw replies as hexadecimal numbers and text. */
export function RawReplies({ replies }: { replies: readonly StoredReply[] | null }) {
  if (replies === null) {
    return (
      <Card title="Raw replies">
        <p>The role of the database may not read the table replies.</p>
      </Card>
    );
  }
  if (replies.length === 0) return null;
  return (
    <Card title="Raw replies">
      {replies.map(({ protocol, seenAt, size, bytes }) => {
        const shown = Math.min(bytes.length, SHOWN_BYTES);
        return (
          <details class="reply">
            <summary>
              {safeText(protocol, 30)}{" "}
              <small>
                {`${countText(size)} bytes`}
                {shown < size && `, of which the first ${countText(shown)} follow`}
                {", received "}
                <Time at={seenAt} />
              </small>
            </summary>
            <pre tabindex={0}>{hexLines(bytes.subarray(0, shown)).join("\n")}</pre>
          </details>
        );
      })}
    </Card>
  );
}
