/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * Several servers in one chart.
 *
 * @module
 */
import { Chart } from "../charts/chart.tsx";
import { joinedLines } from "../charts/joined_lines.ts";
import type { History, ServerDetails } from "../queries/dashboard_data.ts";
import { Card, Empty, PageHead } from "../components/blocks.tsx";
import { compareUrl } from "../components/links.ts";
import { countText, latencyText } from "../components/quantities.ts";
import { PeriodCard } from "../components/server_history.tsx";
import {
  ServerAddress,
  ServerLink,
  StateDot,
  stateOf,
  UptimeText,
} from "../components/server_cells.tsx";
import { Age, nameOf, safeText } from "../components/texts.tsx";
import { htmlDocument } from "./layout.tsx";
import type { PageContext } from "./page_context.ts";

/** Maximum number of servers. */
export const MAX_COMPARED = 5;

export interface ComparedServer {
  readonly details: ServerDetails;
  /** The history in the period, in steps. */
  readonly history: History;
}

/** What the page shows. The URL has the servers as `server`, and the period as `from` and `to`. */
export interface ComparePageData {
  readonly servers: readonly ComparedServer[];
  /** The names or numbers that no server has. */
  readonly missing: readonly string[];
  /** The names that several servers have. */
  readonly ambiguous: readonly {
    readonly name: string;
    readonly matching: ServerDetails["aliases"];
  }[];
  readonly from: number;
  readonly to: number;
}

export function comparePage(data: ComparePageData, context: PageContext): string {
  const { servers, missing, from, to } = data;
  const ids = servers.map(({ details }) => details.server.id);
  return htmlDocument({
    title: "Compare servers",
    context,
    scripts: ["charts"],
    children: (
      <>
        <PageHead title="Compare servers" />
        {missing.length > 0 && (
          <p class="hint">
            Not in the database: {missing.map((one) => safeText(one, 100)).join(", ")}
          </p>
        )}
        <Choices data={data} />
        {servers.length === 0
          ? (
            <Empty title="No server is chosen.">
              <p>
                Choose up to {MAX_COMPARED} servers in <a href="/servers">the list</a>.
              </p>
            </Empty>
          )
          : (
            <PeriodCard period={{ from, to }} path={compareUrl(ids)} now={context.now}>
              <Chart data={playersChart(data)} />
            </PeriodCard>
          )}
        <Card title="Servers">
          {servers.length > 0 && <ServerList data={data} now={context.now} />}
          {servers.length < MAX_COMPARED && <AddForm data={data} />}
        </Card>
      </>
    ),
  });
}

/** Number of servers that are listed for an ambiguous name. */
const MAX_LISTED = 5;

/** The first servers of each ambiguous name, as links that compare them too. */
function Choices({ data: { servers, ambiguous, from, to } }: { data: ComparePageData }) {
  const ids = servers.map(({ details }) => details.server.id);
  return (
    <>
      {ambiguous.map(({ name, matching }) => (
        <p class="hint">
          {`${safeText(name, 100)} has ${countText(matching.length)} servers. `}
          {matching.length > MAX_LISTED ? "The first ones are " : "Choose one: "}
          {matching.slice(0, MAX_LISTED).map(({ id, key }, i) => (
            <>
              {i > 0 && ", "}
              <a href={compareUrl([...ids, id], { from, to })}>
                <code>{safeText(key, 80)}</code>
              </a>
            </>
          ))}
        </p>
      ))}
    </>
  );
}

/** A line with the players of each server. */
function playersChart({ servers, from, to }: ComparePageData) {
  const lines = servers.map(({ history }) =>
    history.points.map(({ at, until, players }) => ({ at, until, value: players }))
  );
  return {
    ...{ title: "Players", unit: "players", from, to, pieces: joinedLines(lines) },
    series: servers.map(({ details: { server } }, color) => ({
      ...{ name: safeText(nameOf(server), 40), color, shape: "line" } as const,
    })),
  };
}

function ServerList({ data: { servers, from, to }, now }: { data: ComparePageData; now: number }) {
  const ids = servers.map(({ details }) => details.server.id);
  return (
    <div class="scroll" tabindex={0} role="region" aria-label="Compared servers">
      <table class="compared">
        <thead>
          <tr>
            {["Name", "Address", "Players", "Peak", "Latency", "Uptime, 30 d + today", "Last probe"]
              .map((title) => <th scope="col">{title}</th>)}
            <th scope="col">
              <span class="spoken">Remove</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {servers.map(({ details: { server, uptime }, history: { peak } }, i) => (
            <tr>
              <td class="c-name">
                <span class="with-icon">
                  <i class={`key s${i}`}></i>
                  <ServerLink server={server} />
                </span>
              </td>
              <td class="c-address">
                <StateDot state={stateOf(server, now)} /> <ServerAddress address={server.key} />
              </td>
              <td class="number" data-title="Players">
                {countText(stateOf(server, now) === "online" ? server.players_online : null)}
              </td>
              <td class="number" data-title="Peak">{countText(peak?.players ?? null)}</td>
              <td class="number" data-title="Latency">{latencyText(server.latency_ms)}</td>
              <td data-title="Uptime">
                <UptimeText uptime={uptime["30d"]} />
              </td>
              <td data-title="Last probe">
                <Age at={server.probed_at} now={now} />
              </td>
              <td>
                <a
                  href={compareUrl(ids.filter((id) => id !== server.id), { from, to })}
                  aria-label={`Remove ${safeText(nameOf(server), 60)}`}
                >
                  Remove
                </a>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The form for one more server. It keeps the others. */
function AddForm({ data: { servers, from, to } }: { data: ComparePageData }) {
  return (
    <form class="search" action="/compare">
      {servers.map(({ details: { server } }) => (
        <input type="hidden" name="server" value={server.id} />
      ))}
      <input type="hidden" name="from" value={from} />
      <input type="hidden" name="to" value={to} />
      <input
        name="server"
        required
        maxlength={100}
        placeholder="HOST or HOST:PORT"
        aria-label="Address or name of a server"
      />
      <button type="submit">Add</button>
    </form>
  );
}
