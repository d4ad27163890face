/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * How servers are distributed over the values of a facet, as bars.
 *
 * @module
 */
import type { FacetName, Facets, FacetValue } from "../data/dashboard_data.ts";
import { Card } from "./blocks.tsx";
import { FACET_TITLES } from "./facet_list.tsx";
import { countText, percentText } from "./quantities.ts";
import { Bar } from "./server_parts.tsx";
import { safeText } from "./texts.tsx";

/** The facets with bars. */
const BARS: readonly FacetName[] = [
  ...["version", "software", "edition", "protocol", "port", "operator", "country"] as const,
];
/** Number of bars of a facet that are not folded. */
const FIRST = 10;

/** The URL of a value. */
type LinkOf = (value: string | number) => string | undefined;

/** The facets with values. Without `--geoip`, no place is known. */
export function shownBars({ facets }: Pick<Facets, "facets">, hasPlaces: boolean): FacetName[] {
  return BARS.filter((name) => facets[name].length > 0)
    .filter((name) => hasPlaces || name !== "operator" && name !== "country");
}

/**
 * Bars of the values of a facet.
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
  const most = Math.max(...values.map((one) => one.servers));
  const rows = values.map((one) => (
    <BarRow one={one} most={most} servers={servers} linkOf={linkOf} />
  ));
  return (
    <Card title={FACET_TITLES[name]}>
      <BarTable name={name} rows={rows.slice(0, FIRST)} />
      {rows.length > FIRST && (
        <details>
          <summary class="hint">{`${rows.length - FIRST} more`}</summary>
          <BarTable name={name} rows={rows.slice(FIRST)} />
        </details>
      )}
    </Card>
  );
}

function BarTable({ name, rows }: { name: FacetName; rows: readonly unknown[] }) {
  return (
    <table class="bars">
      <thead class="hidden">
        <tr>
          <th scope="col">{FACET_TITLES[name]}</th>
          <th scope="col">Bar</th>
          <th scope="col">Servers</th>
          <th scope="col">Share</th>
        </tr>
      </thead>
      <tbody>{rows}</tbody>
    </table>
  );
}

function BarRow(
  { one, most, servers, linkOf }: {
    one: FacetValue;
    most: number;
    servers: number;
    linkOf?: LinkOf;
  },
) {
  const { value, label } = one;
  const text = <bdi>{safeText(label ?? String(value), 60)}</bdi>;
  return (
    <tr title={`${countText(one.online)} online, ${countText(one.players)} players`}>
      <th scope="row">
        {value === null
          ? <span class="none">unknown</span>
          : linkOf === undefined
          ? text
          : <a href={linkOf(value)}>{text}</a>}
      </th>
      <td>
        <Bar share={most > 0 ? one.servers / most : 0} color={value === null ? 7 : 0} />
      </td>
      <td class="number">{countText(one.servers)}</td>
      <td class="number">{percentText(servers > 0 ? one.servers / servers : null)}</td>
    </tr>
  );
}
