/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The table of a report. `report.ts` of the browser fills it, and filters and sorts its rows.
 *
 * @module
 */
import { Card } from "../parts/blocks.tsx";
import { countText } from "../parts/quantities.ts";
import type { ReportData } from "./report_data.ts";

/** The columns: title, what the script sorts by, class. */
const COLUMNS: readonly (readonly [title: string, sort: string | undefined, name: string])[] = [
  ["Name", "name", "c-name"],
  ["Address", "address", "c-address"],
  ["Players", "players", "c-players"],
  ["Version", "version", "c-version"],
  ["Software", "software", "c-software"],
  ["Protocols", undefined, "c-protocols"],
  ["Last probe, latency", "age", "c-seen"],
];

/** The filters with a list of values: their columns, and the option for all values. */
const LISTS = [
  ["editions", "All editions"],
  ["software", "All software"],
  ["versions", "All versions"],
  ["countries", "All countries"],
] as const;

/** The table with its filters. */
export function ReportTable({ data, hasPlaces }: { data: ReportData; hasPlaces: boolean }) {
  const { facets: { servers }, rows } = data;
  const lists = LISTS.filter(([column]) => hasPlaces || column !== "countries");
  return (
    <Card title="Servers" aside={<small data-count aria-live="polite"></small>}>
      {rows.length < servers && (
        <p class="hint">
          {`The table has ${countText(rows.length)} of ${
            countText(servers)
          } servers: those with the most players. All are counted above.`}
        </p>
      )}
      <noscript>
        <p class="empty">The table needs JavaScript. Nothing else in this file does.</p>
      </noscript>
      <div class="search" data-filters hidden>
        <input
          type="search"
          placeholder="Name, address, version, software"
          aria-label="Text"
          data-text
        />
        <select aria-label="State" data-state>
          <option value="">Online and offline</option>
          <option value="1">Online</option>
          <option value="0">Offline</option>
        </select>
        {lists.map(([column, title]) => (
          <select aria-label={title} data-list={column}>
            <option value="">{title}</option>
          </select>
        ))}
      </div>
      <div class="scroll">
        <table class="servers" role="table" aria-label="Servers" data-servers hidden>
          <thead role="rowgroup">
            <tr role="row">
              {COLUMNS.map(([title, sort, name]) => (
                <th role="columnheader" scope="col" class={name} data-sort={sort}>
                  {sort === undefined ? title : <button type="button">{title}</button>}
                </th>
              ))}
            </tr>
          </thead>
          <tbody role="rowgroup"></tbody>
        </table>
      </div>
      <nav class="paging" aria-label="Pages of the table" data-paging hidden>
        <button type="button" data-previous>← Previous</button>
        <span data-page></span>
        <button type="button" data-next>Next →</button>
      </nav>
    </Card>
  );
}
