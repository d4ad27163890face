/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * What is known of a server: columns, flags, plugins, facts of protocols, raw replies.
 *
 * @module
 */
import type { Child } from "npm:hono@4.13.19/jsx";
import { versionsWith } from "../../classify/game_versions.ts";
import { GEOIP_FIELDS } from "../../app/geoip/geoip_fields.ts";
import { type FlagReasons, PLAYER_FLAGS } from "../../core/flags.ts";
import type { Facts, FactValue, Plugin } from "../../core/record.ts";
import { STORED_FIELDS } from "../../store/queries/stored_fields.ts";
import { MODS_FACTS } from "../../protocols/declared_facts.ts";
import { documentedFlags } from "../../protocols/documented_flags.ts";
import type { StoredReply } from "../queries/dashboard_data.ts";
import type { ListedServer } from "../queries/schemas.ts";
import { Card } from "./blocks.tsx";
import { hexLines } from "./hex_lines.ts";
import { acceptedUrl, scanUrl } from "./links.ts";
import { ageText, countText, latencyText } from "./quantities.ts";
import { CONFIDENCES, reasonsOf } from "./server_cells.tsx";
import { MotdText, safeText, Stranger, Time, wordsOf } from "./texts.tsx";

/** Columns that have a part of the page of their own. */
const ELSEWHERE = ["players", "plugins", "flags", "extras", "notes", "player_flags"];
const TIMES = ["seen_at", "first_seen", "probed_at", "changed_at", "players_at"];

/** All columns of a server that have a value, with their meanings as tooltips, folded. */
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
    <details class="card">
      <summary>All columns</summary>
      <dl class="facts">
        {known.map(({ name, meaning }) => (
          <>
            <dt title={meaning}>
              <code>{name}</code>
            </dt>
            <dd>{columnValue(name, columns[name])}</dd>
          </>
        ))}
      </dl>
    </details>
  );
}

function columnValue(name: string, value: unknown): Child {
  if (TIMES.includes(name)) return <Time at={Number(value)} />;
  if (name === "motd") return <MotdText motd={String(value)} />;
  if (name === "scan_id") {
    return <a href={acceptedUrl(scanUrl(String(value)))}>{safeText(String(value), 40)}</a>;
  }
  return <Stranger text={wordsOf(value)} longest={1000} />;
}

/** A name of a fact, and its value; null: unknown, which leaves it out. */
type Fact = readonly [title: string, value: Child | null];

/** What the groups of facts of a server need. */
interface FactsProps {
  readonly server: ListedServer;
  /** Since when the server is online or offline; null: unknown. */
  readonly stateSince: number | null;
  readonly now: number;
  readonly hasGeoip: boolean;
}

/** Facts of a server in groups: the game, the network, times. */
export function ServerFacts(props: FactsProps) {
  const groups = [
    ["Game", gameFacts(props)],
    ["Network", networkFacts(props)],
    ["Times", timeFacts(props)],
  ] as const;
  return (
    <>
      {groups.map(([title, facts]) => (
        <Card title={title}>
          <dl class="facts">
            {facts.filter(([, value]) => value !== null).map(([name, value]) => (
              <>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </>
            ))}
          </dl>
        </Card>
      ))}
    </>
  );
}

function textFact(value: string | null): Child | null {
  return value === null || value === "" ? null : <Stranger text={value} longest={100} />;
}

function countFact(value: number | null, unit = ""): Child | null {
  return value === null ? null : `${countText(value)}${unit}`;
}

function gameFacts({ server }: FactsProps): Fact[] {
  const { edition, software, software_confidence: confidence, protocol_version: number } = server;
  const meaning = confidence === null ? undefined : CONFIDENCES[confidence];
  return [
    ["Edition", textFact(edition)],
    [
      "Software",
      software === null ? null : (
        <>
          <Stranger text={software} longest={100} />
          {meaning !== undefined && <small>{` ${meaning}`}</small>}
        </>
      ),
    ],
    ["Version", textFact(server.version)],
    ["Protocol version", number === null ? null : protocolText(edition, number)],
    ["Game mode", textFact(server.gamemode)],
    ["Map", textFact(server.map)],
    ["Slots", countFact(server.players_max)],
    ["Proxy", textFact(server.proxy)],
  ];
}

function networkFacts({ server, hasGeoip }: FactsProps): Fact[] {
  const { host, port, latency_ms: latency, joinable } = server;
  return [
    ["Address", textFact(`${host.includes(":") ? `[${host}]` : host}:${port}`)],
    ["Requested as", textFact(server.requested_as)],
    ["Protocols", textFact(server.protocols.join(", "))],
    ["Latency", latency === null ? null : latencyText(latency)],
    ["MTU", countFact(server.mtu, " bytes")],
    ["Accepts connections", joinable === null ? null : joinable ? "yes" : "no"],
    ["Country", hasGeoip ? textFact(server.country) : null],
    ["Operator", hasGeoip ? textFact(server.operator) : null],
  ];
}

function timeFacts({ server, stateSince, now }: FactsProps): Fact[] {
  const { online, missed_scans: missed, scan_id: scan } = server;
  const timeFact = (at: number | null) =>
    at === null ? null : (
      <>
        <Time at={at} /> <small>{ageText(at, now)}</small>
      </>
    );
  return [
    [online ? "Online since" : "Offline since", timeFact(stateSince)],
    ["Last reply", server.protocol === "" ? "never" : timeFact(server.seen_at)],
    ["Last probe", timeFact(server.probed_at)],
    ["Missed scans", missed === 0 ? null : countFact(missed)],
    ["First found", timeFact(server.first_seen)],
    ["Last change", timeFact(server.changed_at)],
    [
      "Found by",
      scan === null ? null : <a href={acceptedUrl(scanUrl(scan))}>its last scan or watch</a>,
    ],
  ];
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

/** Why the number of players cannot be believed: the rules, and the values by which they decided. */
export function PlayerFlags({ reasons }: { reasons: FlagReasons | null }) {
  const known = reasonsOf(reasons);
  if (known.length === 0) return null;
  return (
    <Card title="The number of players cannot be believed">
      <dl class="flags">
        {known.map(([flag, { since, ...values }]) => (
          <>
            <dt>
              <code>{flag}</code>
            </dt>
            <dd>
              {PLAYER_FLAGS[flag]}
              <br />
              <small>
                since <Time at={Number(since)} />
                {Object.entries(values).map(([name, value]) =>
                  `; ${safeText(name, 20)}: ${countText(Number(value))}`
                )}
              </small>
            </dd>
          </>
        ))}
      </dl>
    </Card>
  );
}

/** Maximum number of plugins, and of facts of a protocol, on a page. */
const MAX_ITEMS = 300;

/** The plugins or mods that a server publishes. */
export function Plugins(
  { title, plugins }: { title: string; plugins: readonly Plugin[] | null },
) {
  if (plugins === null || plugins.length === 0) return null;
  return (
    <Card title={`${title} (${countText(plugins.length)})`}>
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

/** The mods that a server publishes by name. */
export function modsOf({ extras }: Pick<ListedServer, "extras">): readonly Plugin[] {
  const mods = extras?.[MODS_FACTS.protocol]?.[MODS_FACTS.names];
  if (typeof mods !== "object" || mods === null || Array.isArray(mods)) return [];
  return Object.entries(mods).map(([name, version]) => ({
    name,
    version: typeof version === "string" ? version : null,
  }));
}

/** The facts of each protocol that have no column. Mods have a list of their own. */
export function FactsByProtocol({ extras }: { extras: Readonly<Record<string, Facts>> | null }) {
  return (
    <>
      {Object.entries(extras ?? {}).slice(0, 20).map(([protocol, facts]) => (
        <Card title={<>Facts by {safeText(protocol, 30)}</>}>
          <dl class="facts">
            {Object.entries(facts).filter(([name]) =>
              protocol !== MODS_FACTS.protocol || name !== MODS_FACTS.names
            ).slice(0, MAX_ITEMS).map(([name, value]) => (
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
  return <Stranger text={value === null ? null : wordsOf(value)} longest={600} />;
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
