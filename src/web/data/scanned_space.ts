/**
 * The IPv4 addresses that scans were to probe, those that they excluded, and those of which adaptive
 * scans were to probe some.
 *
 * @module
 */
import type { Database, Value } from "../../store/database/database.ts";
import { parseAddress } from "../../core/address.ts";
import { type Range, RangeSet } from "../../targets/ranges.ts";
import type { MapCells, Square } from "../queries/dashboard_data.ts";

/** Values of cells: bits. */
const ASKED = 1;
const EXCLUDED = 2;
const SAMPLED = 4;
const CELLS = 65_536;

/**
 * The addresses of all scans of a database. They are read again when a scan has begun or was
 * resumed.
 */
export class ScannedSpace {
  /** The scans whose addresses were read. */
  #scans = "";
  #asked = RangeSet.of<number>([]);
  #excluded = RangeSet.of<number>([]);
  #sampled = RangeSet.of<number>([]);

  /** The cells of a square that contain asked, sampled or excluded addresses. */
  async cells(
    database: Database,
    square: Square,
  ): Promise<Omit<MapCells, "servers">> {
    await this.#read(database);
    const cells = new Uint8Array(CELLS);
    mark(cells, this.#sampled, SAMPLED, square);
    mark(cells, this.#asked, ASKED, square);
    mark(cells, this.#excluded, EXCLUDED, square);
    // a cell with addresses that were all probed counts as scanned
    for (const [i, cell] of cells.entries()) if (cell & ASKED) cells[i] &= ~SAMPLED;
    const used = Array.from(cells.keys()).filter((cell) => cells[cell] !== 0);
    return { square, cells: used, values: used.map((cell) => cells[cell]) };
  }

  async #read(database: Database): Promise<void> {
    const rows = await database.rows("select id, runs from scans order by id");
    const scans = JSON.stringify(rows.map(({ id, runs }) => [id, runs]));
    if (scans === this.#scans) return;
    const [asked, excluded, sampled]: Range<number>[][] = [[], [], []];
    for (const { id } of rows) {
      const ranges = await database.rows(
        "select first, last, excluded, sampled from scan_ranges where scan = ?",
        [id],
      );
      const of = (isExcluded: number) =>
        RangeSet.of(
          ranges.filter((row) => Number(row.excluded) === isExcluded).flatMap(rangeOf),
        );
      const probed = of(0).subtract(of(1));
      (ranges.some((row) => Number(row.sampled) === 1) ? sampled : asked).push(...probed);
      excluded.push(...of(1));
    }
    this.#asked = RangeSet.of(asked);
    this.#sampled = RangeSet.of(sampled).subtract(this.#asked);
    this.#excluded = RangeSet.of(excluded).subtract(this.#asked).subtract(this.#sampled);
    this.#scans = scans;
  }
}

/** The range of a row; none if it has IPv6 addresses. */
function rangeOf({ first, last }: Readonly<Record<string, Value>>): Range<number>[] {
  const [start, end] = [first, last].map((value) => parseAddress(String(value)));
  return typeof start === "number" && typeof end === "number" ? [{ start, end: end + 1 }] : [];
}

/** Sets a bit of the cells of a square that contain addresses of a set. */
function mark(
  cells: Uint8Array,
  set: RangeSet<number>,
  bit: number,
  { address: first, prefix }: Square,
): void {
  const size = 2 ** (16 - prefix);
  for (const { start, end } of set) {
    const [from, to] = [start - first, end - 1 - first].map((at) => Math.floor(at / size));
    for (let cell = Math.max(0, from); cell <= Math.min(to, CELLS - 1); cell++) cells[cell] |= bit;
  }
}
