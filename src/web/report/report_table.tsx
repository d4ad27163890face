/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The table of a report. `report.ts` of the browser fills it, and filters and sorts its rows.
 *
 * @module
 */
import { Card } from "../components/blocks.tsx";
import { countText } from "../components/quantities.ts";
import { type ServerColumn, ServerTableFrame } from "../components/server_table.tsx";
import type { ReportData } from "./report_data.ts";

/** The heading of a column. The script sorts by all columns but the protocols. */
function headingOf(column: ServerColumn, title: string) {
  const text = column === "seen" ? `${title}, latency` : title;
  return column === "protocols"
    ? { content: text }
    : { sort: column, content: <button type="button">{text}</button> };
}

/** The filters with a list of values: their columns, and the option for all values. */
const LISTS = [
  ["editions", "All editions"],
  ["software", "All software"],
  ["versions", "All versions"],
  ["countries", "All countries"],
] as const;

/** The table with its filters. */
export function ReportTable({ data, hasGeoip }: { data: ReportData; hasGeoip: boolean }) {
  const { facets: { servers }, rows } = data;
  const lists = LISTS.filter(([column]) => hasGeoip || column !== "countries");
  return (
    <Card title="Servers" aside={<small data-count aria-live="polite"></small>}>
      {rows.length < servers && (
        <p class="hint">
          {`The table has ${countText(rows.length)} of ${
            countText(servers)
          } servers: those with the most players. All are counted below the table.`}
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
      <ServerTableFrame omitted="replied" label="Servers" headingOf={headingOf} isScripted />
      <nav class="paging" aria-label="Pages of the table" data-paging hidden>
        <button type="button" data-previous>← Previous</button>
        <span data-page></span>
        <button type="button" data-next>Next →</button>
      </nav>
    </Card>
  );
}
