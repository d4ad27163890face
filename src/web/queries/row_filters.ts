/**
 * The tests of rows by the filters of the dashboard: those of databases, and those of country and operator, of
 * which databases have no columns.
 *
 * @module
 */
import type { GeoipValues } from "../../app/geoip/mod.ts";
import {
  columnTest,
  type FilterTest,
  type ListedRecord,
  SERVER_FILTERS,
  testOf,
  UNKNOWN_COLUMNS,
} from "../../store/mod.ts";
import type { DashboardFilters } from "./dashboard_data.ts";

/** The values of country and operator, and the column of each. */
const GEOIP_COLUMNS = { country: "country", operator: "asn" } as const;

/** The filters of country and operator. */
export const GEOIP_FILTERS = {
  country: columnTest(
    "country",
    (wanted: readonly string[]) => (country: string | null) =>
      country !== null && wanted.includes(country),
  ),
  operator: columnTest(
    "asn",
    (wanted: readonly number[]) => (asn: number | null) => asn !== null && wanted.includes(asn),
  ),
};

type Unknown = NonNullable<DashboardFilters["unknown"]>;

/** What may be unknown, and for which there is a filter. */
export const UNKNOWN_NAMES: Unknown = [...UNKNOWN_COLUMNS, "country", "operator"];

/** Divides the filter `unknown`: what databases have, and the columns of `--geoip`. */
export function dividedUnknown(wanted: Unknown) {
  const stored = UNKNOWN_COLUMNS.filter((name) => wanted.includes(name));
  const geoip = wanted.filter((name) => name === "country" || name === "operator");
  return { stored, geoip };
}

/** The tests of places. */
const PLACE_TESTS = {
  ...GEOIP_FILTERS,
  unknown: {
    test: (wanted: Unknown) => {
      const columns = dividedUnknown(wanted).geoip.map((name) => GEOIP_COLUMNS[name]);
      return (place: GeoipValues) => columns.every((name) => place[name] === null);
    },
  },
};

/** A test of whether places match the filters of country and operator. */
export function testOfPlaces(
  filters: Pick<DashboardFilters, "country" | "operator" | "unknown">,
): (place: GeoipValues) => boolean {
  return testOf(PLACE_TESTS, filters);
}

/** What a scan saw is in no row. */
const ANY = { test: () => () => true };

/** The tests of rows. */
const TESTS: {
  readonly [Name in keyof DashboardFilters]-?: FilterTest<
    NonNullable<DashboardFilters[Name]>,
    ListedRecord & GeoipValues
  >;
} = {
  ...SERVER_FILTERS,
  ...GEOIP_FILTERS,
  unknown: {
    test: (wanted) => {
      const isUnknown = SERVER_FILTERS.unknown.test(dividedUnknown(wanted).stored);
      const isPlace = PLACE_TESTS.unknown.test(wanted);
      return (server) => isUnknown(server) && isPlace(server);
    },
  },
  scan: ANY,
  saw: ANY,
};

/** A test of whether servers match all filters. */
export function testOfRows(
  filters: DashboardFilters,
): (server: ListedRecord & GeoipValues) => boolean {
  return testOf(TESTS, filters);
}
