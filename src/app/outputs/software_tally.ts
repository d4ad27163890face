/**
 * Rows counted by software and by version, for the summary of a scan and of a table.
 *
 * @module
 */
import type { ServerRecord } from "../../core/record.ts";
import { harmlessText } from "../../core/text.ts";
import { countOf, withCommas } from "../../core/quantities.ts";
import type { MadeRows } from "../../sinks/sink.ts";
import { RowObserver } from "./row_observer.ts";

/** Maximum number of different texts that are counted: servers choose their versions freely. */
const MAX_TEXTS = 1000;
/** Maximum length of a text, characters. */
const LONGEST = 40;
/** Number of texts that a line shows. */
const SHOWN = 6;

/** Counts rows by software and by version. */
export class SoftwareTally extends RowObserver {
  readonly #software = new Counts();
  readonly #versions = new Counts();

  override read(records: readonly ServerRecord[]): void {
    for (const { software, version } of records) {
      this.#software.add(software);
      this.#versions.add(version);
    }
  }

  /** Counts rows that a thread made. */
  writeMade({ software, versions }: MadeRows): Promise<void> {
    for (const [text, count] of software) this.#software.add(text, count);
    for (const [text, count] of versions) this.#versions.add(text, count);
    return Promise.resolve();
  }

  /**
   * A line for the software and one for the versions; none without rows.
   *
   * @param part Description of the rows, if they are not all rows.
   * @param versions Whether to add the line for the versions.
   */
  lines(part?: string, versions: boolean = true): string[] {
    if (this.#software.size === 0) return [];
    const which = part === undefined ? "" : ` ${part}`;
    return [
      `software${which}: ${this.#software.text()}`,
      ...(versions ? [`versions${which}: ${this.#versions.text()}`] : []),
    ];
  }
}

/** Counts how often texts occur. */
class Counts {
  readonly #texts = new Map<string, number>();
  #unknown = 0;
  #rest = 0;
  /** Number of counted texts. */
  size = 0;

  add(text: string | null, count = 1): void {
    this.size += count;
    if (text === null || text === "") {
      this.#unknown += count;
      return;
    }
    const key = text.slice(0, LONGEST);
    const before = this.#texts.get(key);
    if (before === undefined && this.#texts.size >= MAX_TEXTS) this.#rest += count;
    else this.#texts.set(key, (before ?? 0) + count);
  }

  /** `40 × Paper, 12 × BDS, 7 others, 3 unknown`. */
  text(): string {
    const sorted = [...this.#texts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
    const others = sorted.slice(SHOWN).reduce((sum, [, count]) => sum + count, this.#rest);
    return [
      ...sorted.slice(0, SHOWN).map(([text, count]) =>
        `${withCommas(count)} × ${harmlessText(text)}`
      ),
      ...(others > 0 ? [countOf(others, "other")] : []),
      ...(this.#unknown > 0 ? [`${withCommas(this.#unknown)} unknown`] : []),
    ].join(", ");
  }
}
