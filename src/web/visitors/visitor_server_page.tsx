/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The page of a server for visitors.
 *
 * @module
 */
import { roughDuration } from "../../core/quantities.ts";
import { Chart } from "../charts/chart.tsx";
import { UptimeStrip } from "../charts/uptime_strip.tsx";
import { Card, Tabs } from "../components/blocks.tsx";
import { contactUrl } from "../components/links.ts";
import { ServerIcon, stateOf } from "../components/server_cells.tsx";
import { modsOf } from "../components/server_facts.tsx";
import { playersChart } from "../components/server_history.tsx";
import { editionName, nameOf, safeText, Stranger } from "../components/texts.tsx";
import type { History, ServerDetails } from "../queries/dashboard_data.ts";
import type { ListedServer } from "../queries/schemas.ts";
import {
  Cards,
  CopyAddress,
  countryName,
  monthText,
  MotdBlock,
  PlayerCount,
} from "./visitor_cards.tsx";
import { listUrl, visitorServerUrl } from "./visitor_filters.ts";
import { siteName, visitorDocument } from "./visitor_layout.tsx";
import { playerCount, titleOf, type VisitorServer } from "./visitor_server.ts";
import type { VisitorContext } from "./visitor_site.ts";

/** The periods of the chart, days. */
export const CHART_DAYS = [1, 7, 30] as const;

export interface VisitorDetails {
  readonly details: Pick<ServerDetails, "server" | "uptime" | "days">;
  readonly history: History;
  readonly days: typeof CHART_DAYS[number];
  readonly similar: readonly ListedServer[];
}

export function visitorServerPage(
  { details, history, days, similar }: VisitorDetails,
  context: VisitorContext,
): string {
  const { server, uptime } = details;
  const { now } = context;
  const path = visitorServerUrl(server.key);
  const title = titleOf(server, now);
  return visitorDocument({
    title,
    description: `${title}. Address ${server.key}. ${server.motd_plain ?? ""}`.trim(),
    canonical: path,
    picture: server.has_icon ? `/icons/${server.favicon_hash}.png` : undefined,
    facts: factsOf(server, context),
    scripts: ["charts"],
    context,
    children: (
      <>
        <div class="server-head">
          <ServerIcon server={server} size={64} />
          <div>
            <h1>
              <Stranger text={nameOf(server)} />
            </h1>
            <p class="sentence">{sentence(server, uptime["30d"], now)}</p>
          </div>
        </div>
        <MotdBlock server={server} />
        <div class="join">
          <CopyAddress address={server.key} />
          {server.edition === "bedrock" && (
            <a class="button" href={addLink(server)}>Add to Bedrock</a>
          )}
          {stateOf(server, now) === "online" && (
            <div class="count">
              <PlayerCount count={playerCount(server, now)} />
            </div>
          )}
        </div>
        <Card
          title="Players"
          aside={
            <Tabs
              label="Period"
              tabs={CHART_DAYS.map((one) => ({
                name: one === 1 ? "24 h" : `${one} d`,
                url: one === CHART_DAYS[0] ? path : `${path}?days=${one}`,
                isChosen: one === days,
              }))}
            />
          }
        >
          <Chart data={playersChart(history)} />
        </Card>
        <Card title="Uptime by day">
          <UptimeStrip days={details.days} now={now} />
        </Card>
        <div class="grid">
          <Facts server={server} />
          <Parts title="Mods" parts={modsOf(server)} />
          <Parts title="Plugins" parts={server.plugins ?? []} />
          {context.hasBanners && <Banner server={server} context={context} />}
          <Yours server={server} context={context} />
        </div>
        {similar.length > 0 && (
          <>
            <h2>Similar servers</h2>
            <Cards servers={similar} hours={new Map()} now={now} />
          </>
        )}
      </>
    ),
  });
}

/** The state of a server in words. */
function sentence(
  server: VisitorServer,
  uptime: ServerDetails["uptime"]["30d"],
  now: number,
): string {
  const game = [editionName(server.edition), safeText(server.version ?? "", 40)];
  const what = [safeText(server.software ?? "", 60), game.filter((one) => one !== "").join(" ")];
  const state = stateOf(server, now) === "online"
    ? "online"
    : `offline for ${roughDuration(now - server.seen_at)}`;
  const up = uptime.watchedS === 0
    ? ""
    : monthText(uptime.onlineS / uptime.watchedS, uptime.watchedShare);
  return `${[state, ...what, up].filter((one) => one !== "").join(", ")}.`;
}

/** The link that adds a server to the list of the game. */
function addLink(server: VisitorServer): string {
  const [, host = server.host, port = String(server.port)] =
    /^\[?(.+?)\]?:(\d+)$/.exec(server.key) ?? [];
  const name = nameOf(server).replace(/[|]/g, " ").slice(0, 40);
  return `minecraft://?addExternalServer=${encodeURIComponent(`${name}|${host}:${port}`)}`;
}

/** What search engines read. */
function factsOf(server: VisitorServer, { base, now }: VisitorContext): object {
  const count = playerCount(server, now);
  const isFull = count !== undefined && count.slots !== null && count.players >= count.slots;
  const online = isFull ? "OnlineFull" : "Online";
  const state = stateOf(server, now) === "online" ? online : "OfflineTemporarily";
  return {
    "@type": "GameServer",
    name: safeText(nameOf(server), 100),
    url: base + visitorServerUrl(server.key),
    serverStatus: `https://schema.org/${state}`,
    ...count !== undefined && !count.isDoubtful && { playersOnline: count.players },
  };
}

function Facts({ server }: { server: VisitorServer }) {
  const { version, edition, software, country, gamemode, map, tags } = server;
  const address = server.host.includes(":")
    ? `[${server.host}]:${server.port}`
    : `${server.host}:${server.port}`;
  const rows: (readonly [string, string])[] = [
    ["Version", version ?? ""],
    ["Edition", editionName(edition)],
    ["Software", software ?? ""],
    ["Game mode", gamemode ?? ""],
    ["Map", map ?? ""],
    ["Country", country === null ? "" : countryName(country)],
    ["Addresses", address === server.key ? address : `${server.key}, ${address}`],
  ];
  return (
    <Card title="Facts">
      <dl class="facts">
        {rows.filter(([, text]) => text !== "").map(([name, text]) => (
          <>
            <dt>{name}</dt>
            <dd>
              <bdi>{safeText(text)}</bdi>
            </dd>
          </>
        ))}
      </dl>
      {tags !== undefined && tags.length > 0 && (
        <p class="badges">
          {tags.map((tag) => (
            <a class="badge" href={listUrl({ tag: [tag] })}>{safeText(tag, 60)}</a>
          ))}
        </p>
      )}
    </Card>
  );
}

/** Maximum number of mods or plugins of a page. */
const MOST_PARTS = 500;

function Parts(
  { title, parts }: {
    title: string;
    parts: readonly { readonly name: string; readonly version: string | null }[];
  },
) {
  return parts.length === 0 ? null : (
    <Card title={`${title} (${parts.length})`}>
      <ul class="names">
        {parts.slice(0, MOST_PARTS).map(({ name, version }) => (
          <li>
            <bdi>{safeText(version === null ? name : `${name} ${version}`, 80)}</bdi>
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** The banner of a server, and the code that shows it on other sites. */
function Banner({ server, context: { base } }: { server: VisitorServer; context: VisitorContext }) {
  const prefix = server.edition === "bedrock" ? "/bedrock" : "";
  const path = `${prefix}/banner/${encodeURIComponent(server.key)}`;
  const page = base + visitorServerUrl(server.key);
  const alt = `Status of ${server.key}`;
  const html = `<a href="${page}"><img src="${base}${path}" width="468" height="60" alt="${
    alt.replaceAll('"', "")
  }"></a>`;
  return (
    <Card title="Banner">
      <img class="banner" src={path} width="468" height="60" alt={alt} loading="lazy" />
      <p>
        <small>HTML</small> <code>{html}</code>
      </p>
      <p>
        <small>Markdown</small> <code>{`[![${alt}](${base}${path})](${page})`}</code>
      </p>
    </Card>
  );
}

/** How the owner of a server reaches who runs the list. */
function Yours({ server, context }: { server: VisitorServer; context: VisitorContext }) {
  const url = contactUrl(context.contact, `${server.key} on ${siteName(context)}`);
  return (
    <Card title="Is this yours?">
      <p>
        <a href={url}>Change or remove it</a>: <a href="/about">About</a> says how.
      </p>
    </Card>
  );
}
