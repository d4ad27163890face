/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * A table of servers. On narrow pages its rows become cards.
 *
 * @module
 */
import type { Child } from "npm:hono@4.13.19/jsx";
import { shownVersion } from "../../classify/game_versions.ts";
import type { ServersPage, ServersQuery } from "../queries/dashboard_data.ts";
import type { OtherRows } from "../../store/mod.ts";
import type { ListedServer } from "../queries/schemas.ts";
import {
  reversedOrder,
  SERVER_ORDERS,
  type ServerOrder,
  usualOrder,
} from "../../store/queries/orders.ts";
import { serversUrl } from "./links.ts";
import { countText, latencyText, spanText, timeText } from "./quantities.ts";
import {
  Badges,
  Players,
  ServerAddress,
  ServerIcon,
  ServerLink,
  SoftwareText,
  StateDot,
  stateOf,
} from "./server_cells.tsx";
import { OtherRowList } from "./other_rows.tsx";
import { Age, nameOf, safeText, Stranger } from "./texts.tsx";

const COLUMNS = {
  name: "Name",
  address: "Address",
  players: "Players",
  version: "Version",
  software: "Software",
  protocols: "Protocols",
  replied: "Last reply",
  seen: "Last probe",
} as const;

/** The times that the last column may have: their titles, and the columns of servers. */
const TIMES = {
  new: ["First found", "first_seen"],
  changed: ["Last change", "changed_at"],
  seen: [COLUMNS.seen, "probed_at"],
} as const;

/** A time by which servers are sorted. */
type TimeOrder = keyof typeof TIMES;

/** The `id` of the form to which the choices of rows belong. */
export const COMPARE_FORM = "compare";

export type ServerColumn = keyof typeof COLUMNS;

/**
 * A table of servers. With a query its headings sort, and reverse the order, and its rows can be
 * chosen for the form {@linkcode COMPARE_FORM}. The last column has the time by which the rows are
 * sorted, otherwise that of the last probe, which narrow windows and paper omit.
 *
 * @param sorted The time by which the rows are sorted. Default: that of the query.
 */
export function ServerTable(
  { servers, now, label, query, sorted, others = {}, hasGeoip }: {
    servers: readonly ListedServer[];
    now: number;
    label: string;
    query?: ServersQuery;
    sorted?: TimeOrder;
    others?: ServersPage["others"];
    hasGeoip: boolean;
  },
) {
  const order = query === undefined ? undefined : usualOrder(query.sort);
  const chosen = sorted ?? (isTime(order) ? order : undefined);
  const time = chosen ?? "seen";
  const headingOf = (column: ServerColumn, usualTitle: string): Heading => {
    const [name, title] = column === "seen" ? [time, TIMES[time][0]] : [column, usualTitle];
    if (query === undefined || !isOrder(name)) return { content: title };
    const { filters, sort, group } = query;
    const isChosen = name === order;
    const url = serversUrl(filters, { sort: isChosen ? reversedOrder(sort) : name, group });
    const direction = SERVER_ORDERS[sort].isDescending ? "descending" : "ascending";
    return { content: <a href={url}>{title}</a>, order: isChosen ? direction : undefined };
  };
  return (
    <ServerTableFrame label={label} headingOf={headingOf} isByTime={chosen !== undefined}>
      {servers.map((server) => (
        <ServerRow
          server={server}
          now={now}
          time={time}
          hasGeoip={hasGeoip}
          isChoice={query !== undefined}
          others={others[server.id]}
        />
      ))}
    </ServerTableFrame>
  );
}

/** When a server last replied: with its latency, or since when it is offline. */
function LastReply({ server, now }: { server: ListedServer; now: number }) {
  const { protocol, online, seen_at: seenAt, changed_at: changedAt, latency_ms: latency } = server;
  if (protocol === "") return <span class="none">never</span>;
  const state = stateOf(server, now);
  return (
    <>
      <Age at={seenAt} now={now} />
      {state === "online" && <small>{latencyText(latency)}</small>}
      {state === "stale" && <small>stale</small>}
      {!online && changedAt >= seenAt && (
        <small title={`since ${timeText(changedAt)} UTC`}>
          {`offline for ${spanText(now - changedAt)}`}
        </small>
      )}
    </>
  );
}

function isTime(order: string | undefined): order is TimeOrder {
  return order !== undefined && Object.hasOwn(TIMES, order);
}

/** Whether servers can be sorted by a column. */
function isOrder(column: string): column is ServerOrder {
  return Object.hasOwn(SERVER_ORDERS, column);
}

interface Heading {
  readonly content: Child;
  /** The order of the rows, if they are sorted by this column. */
  readonly order?: "ascending" | "descending";
  /** The name by which a script sorts rows. */
  readonly sort?: string;
}

/**
 * The headings of a table of servers, and its rows.
 *
 * @param isScripted Whether a script fills and shows the table.
 * @param omitted A column that the table does not have.
 * @param isByTime Whether the rows are sorted by the time in the last column.
 */
export function ServerTableFrame(
  { label, headingOf, isScripted, omitted, isByTime, children }: {
    label: string;
    headingOf: (column: ServerColumn, title: string) => Heading;
    isScripted?: boolean;
    omitted?: ServerColumn;
    isByTime?: boolean;
    children?: Child;
  },
) {
  const columns = (Object.entries(COLUMNS) as [ServerColumn, string][])
    .filter(([column]) => column !== omitted);
  return (
    <div class="scroll">
      <table
        class={isByTime ? "servers by-time" : "servers"}
        role="table"
        aria-label={label}
        data-servers={isScripted}
        hidden={isScripted}
      >
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(([column, title]) => {
              const { content, order, sort } = headingOf(column, title);
              return (
                <th
                  role="columnheader"
                  scope="col"
                  class={`c-${column}`}
                  aria-sort={order}
                  data-sort={sort}
                >
                  {content}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody role="rowgroup">{children}</tbody>
      </table>
    </div>
  );
}

/** The endpoints that a row stands for too, and the rules that say so. */
function OtherEndpoints({ others }: { others: OtherRows }) {
  const { count } = others;
  return (
    <details class="others">
      <summary>{`+${countText(count)} ${count === 1 ? "endpoint" : "endpoints"}`}</summary>
      <OtherRowList others={others} />
    </details>
  );
}

function ServerRow(
  { server, now, time, hasGeoip, isChoice, others }: {
    server: ListedServer;
    now: number;
    time: TimeOrder;
    hasGeoip: boolean;
    isChoice: boolean;
    others: OtherRows | undefined;
  },
) {
  const { key, country, operator, protocols } = server;
  const [timeTitle, timeColumn] = TIMES[time];
  return (
    <tr role="row" class={server.online ? undefined : "is-offline"}>
      <td role="cell" class="c-name">
        <span class="with-icon">
          {isChoice && (
            <input
              type="checkbox"
              name="server"
              value={server.id}
              form={COMPARE_FORM}
              aria-label={`Compare ${safeText(nameOf(server), 60)}`}
            />
          )}
          <ServerIcon server={server} />
          <ServerLink server={server} />
        </span>
      </td>
      <td role="cell" class="c-address">
        <StateDot state={stateOf(server, now)} />
        <ServerAddress address={key} />
        {others && <OtherEndpoints others={others} />}
        {hasGeoip && country !== null && (
          <small class="geoip">
            <abbr class="badge">{safeText(country, 4)}</abbr>
            {operator !== null && <Stranger text={operator} longest={40} />}
          </small>
        )}
      </td>
      <td role="cell" class="c-players">
        <Players server={server} isStale={stateOf(server, now) === "stale"} />
      </td>
      <td role="cell" class="c-version">
        <Stranger text={shownVersion(server)} longest={40} />
      </td>
      <td role="cell" class="c-software">
        <SoftwareText server={server} />
      </td>
      <td role="cell" class="c-protocols">
        <Badges names={protocols} />
      </td>
      <td role="cell" class="c-replied">
        <LastReply server={server} now={now} />
      </td>
      <td role="cell" class="c-seen" data-title={timeTitle}>
        <Age at={server[timeColumn]} now={now} />
      </td>
    </tr>
  );
}
