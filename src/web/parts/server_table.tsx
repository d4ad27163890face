/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * A table of servers. On narrow pages its rows become cards.
 *
 * @module
 */
import type { ListedServer, ServersQuery } from "../data/dashboard_data.ts";
import type { ServerOrder } from "../../store/queries/orders.ts";
import { serversUrl } from "./links.ts";
import { latencyText } from "./quantities.ts";
import {
  Address,
  Badges,
  Players,
  ServerIcon,
  ServerName,
  Software,
  StateDot,
} from "./server_parts.tsx";
import { Age, safeText, Stranger } from "./texts.tsx";

/** The columns: title, sort order, class. */
const COLUMNS: readonly (readonly [title: string, sort: ServerOrder | undefined, name: string])[] =
  [
    ["Name", "name", "c-name"],
    ["Address", "address", "c-address"],
    ["Players", "players", "c-players"],
    ["Version", "version", "c-version"],
    ["Software", undefined, "c-software"],
    ["Protocols", undefined, "c-protocols"],
    ["Last probe", undefined, "c-seen"],
  ];

/** Sort orders in which the first row has the highest value. */
const DESCENDING: readonly ServerOrder[] = ["players", "new", "changed"];

/** A table of servers. With a query its headings sort. */
export function ServerTable(
  { servers, now, label, query, hasPlaces }: {
    servers: readonly ListedServer[];
    now: number;
    label: string;
    query?: ServersQuery;
    hasPlaces: boolean;
  },
) {
  return (
    <div class="scroll">
      <table class="servers" role="table" aria-label={label}>
        <thead role="rowgroup">
          <tr role="row">
            {COLUMNS.map(([title, sort, name]) => (
              <th
                role="columnheader"
                scope="col"
                class={name}
                aria-sort={query && sort === query.sort
                  ? DESCENDING.includes(sort) ? "descending" : "ascending"
                  : undefined}
              >
                {query && sort ? <a href={serversUrl(query.filters, { sort })}>{title}</a> : title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {servers.map((server) => <ServerRow server={server} now={now} hasPlaces={hasPlaces} />)}
        </tbody>
      </table>
    </div>
  );
}

function ServerRow(
  { server, now, hasPlaces }: { server: ListedServer; now: number; hasPlaces: boolean },
) {
  const { key, country, operator, version, protocols, latency_ms: latency } = server;
  return (
    <tr role="row" class={server.online ? undefined : "is-offline"}>
      <td role="cell" class="c-name">
        <span class="with-icon">
          <ServerIcon server={server} />
          <ServerName server={server} />
        </span>
      </td>
      <td role="cell" class="c-address">
        <StateDot online={server.online} />
        <Address address={key} />
        {hasPlaces && country !== null && (
          <small class="place">
            <abbr class="badge">{safeText(country, 4)}</abbr>
            {operator !== null && <Stranger text={operator} longest={40} />}
          </small>
        )}
      </td>
      <td role="cell" class="c-players">
        <Players server={server} />
      </td>
      <td role="cell" class="c-version">
        <Stranger text={version} longest={40} />
      </td>
      <td role="cell" class="c-software">
        <Software server={server} />
      </td>
      <td role="cell" class="c-protocols">
        <Badges names={protocols} />
      </td>
      <td role="cell" class="c-seen">
        <Age at={server.last_seen} now={now} />
        <small>{latencyText(latency)}</small>
      </td>
    </tr>
  );
}
