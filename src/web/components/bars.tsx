/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * How servers are distributed over the values of a facet, as bars.
 *
 * @module
 */
import type { Child } from "npm:hono@4.13.19/jsx";
import type { Facets, FacetValue } from "../queries/dashboard_data.ts";
import type { FacetName } from "../queries/schemas.ts";
import { Card } from "./blocks.tsx";
import { FACET_TITLES } from "./facet_list.tsx";
import { countText, percentText } from "./quantities.ts";
import { Bar } from "./server_cells.tsx";
import { safeText } from "./texts.tsx";

const BARS: readonly FacetName[] = [
  ...["version", "software", "edition", "protocol", "port", "operator", "country"] as const,
];
/** Number of bars of a facet that are not folded. */
const FIRST = 10;

/** The URL of a value; of an unknown one, null. */
type LinkOf = (value: string | number | null) => string | undefined;

/** The facets with values. Without `--geoip`, no country is known. */
export function shownBars({ facets }: Pick<Facets, "facets">, hasGeoip: boolean): FacetName[] {
  return BARS.filter((name) => facets[name].length > 0)
    .filter((name) => hasGeoip || name !== "operator" && name !== "country");
}

/**
 * Bars of the values of a facet: shares of all servers.
 *
 * @param linkOf The URL of a value; without it, values are no links.
 */
export function Bars(
  { name, values, servers, linkOf }: {
    name: FacetName;
    values: readonly FacetValue[];
    servers: number;
    linkOf?: LinkOf;
  },
) {
  const titles = [FACET_TITLES[name], "Bar", "Servers", "Share"];
  const rows = values.map((one) => barOf(one, servers, linkOf));
  return (
    <Card title={FACET_TITLES[name]}>
      <BarTable titles={titles} rows={rows.slice(0, FIRST)} />
      {rows.length > FIRST && (
        <details>
          <summary class="hint">{`${rows.length - FIRST} more`}</summary>
          <BarTable titles={titles} rows={rows.slice(FIRST)} />
        </details>
      )}
    </Card>
  );
}

interface BarRow {
  readonly name: Child;
  /** The length of the bar, 0 to 1. */
  readonly share: number;
  readonly color?: number;
  /** The texts behind the bar. */
  readonly numbers: readonly string[];
  /** The tooltip. */
  readonly title?: string;
}

/** A table of names with bars. */
export function BarTable(
  { titles, rows }: { titles: readonly string[]; rows: readonly BarRow[] },
) {
  return (
    <table class="bars">
      <thead class="hidden">
        <tr>{titles.map((title) => <th scope="col">{title}</th>)}</tr>
      </thead>
      <tbody>
        {rows.map(({ name, share, color, numbers, title }) => (
          <tr title={title}>
            <th scope="row">{name}</th>
            <td>
              <Bar share={share} color={color} />
            </td>
            {numbers.map((number) => <td class="number">{number}</td>)}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function barOf(one: FacetValue, servers: number, linkOf?: LinkOf): BarRow {
  const { value, label } = one;
  const url = linkOf?.(value);
  const text = value === null
    ? <span class="none">unknown</span>
    : <bdi>{safeText(label ?? String(value), 60)}</bdi>;
  return {
    name: url === undefined ? text : <a href={url}>{text}</a>,
    share: servers > 0 ? Math.min(1, one.servers / servers) : 0,
    color: value === null ? 7 : 0,
    numbers: [countText(one.servers), percentText(servers > 0 ? one.servers / servers : null)],
    title: `${countText(one.online)} online, ${countText(one.players)} players`,
  };
}
