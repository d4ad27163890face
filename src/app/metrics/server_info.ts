/**
 * The info series of servers: `--metrics-info`. Their labels are texts that servers publish, so a
 * server could make a new time series with each poll. Each series keeps its labels for an hour.
 *
 * @module
 */
import type { ServerRecord } from "../../core/record.ts";
import { cutText, harmlessText } from "../../core/text.ts";

/** How long a server's labels stay as they are, milliseconds: at most 24 series a day. */
const KEPT_MS = 3_600_000;
/** Maximum length of a label, characters. */
const MAX_CHARACTERS = 64;

/** The labels of a server's info series. Unknown ones are empty, which Prometheus reads as missing. */
export type InfoLabels = Readonly<Record<"name" | "edition" | "software" | "version", string>>;

/** The labels of servers, each with the time from which it is kept. */
export class ServerInfoSeries {
  readonly #kept = new WeakMap<
    WeakKey,
    { readonly labels: InfoLabels; readonly at: number }
  >();

  /**
   * The labels of a server.
   *
   * @param server Identifies the server.
   * @param row Its last record.
   * @param now The current time, milliseconds of any clock.
   */
  labelsOf(server: WeakKey, row: ServerRecord, now: number): InfoLabels {
    const kept = this.#kept.get(server);
    if (kept !== undefined && now - kept.at < KEPT_MS) return kept.labels;
    const { name, edition, software, version } = row;
    const labels = {
      name: label(name),
      edition: label(edition),
      software: label(software),
      version: label(version),
    };
    this.#kept.set(server, { labels, at: now });
    return labels;
  }
}

/** A text of a server as a label: escaped, and not too long. */
function label(text: string | null): string {
  return text === null
    ? ""
    : cutText(harmlessText(cutText(text, 4 * MAX_CHARACTERS)), MAX_CHARACTERS);
}
