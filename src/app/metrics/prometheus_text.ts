/**
 * The text format of Prometheus.
 *
 * @module
 */

/** One value, with the labels that distinguish it within its family. */
export interface Sample {
  /** The value; NaN if it is not known. */
  readonly value: number;
  readonly labels?: Readonly<Record<string, string>>;
  /** Suffix of the family's name. */
  readonly suffix?: "_bucket" | "_sum" | "_count";
}

/** A metric family: values of one metric. */
export interface Family {
  /** Name of the metric; that of a counter ends in `_total`. */
  readonly name: string;
  /** What the metric counts or measures. */
  readonly help: string;
  /** The Prometheus type of the family. */
  readonly type: "counter" | "gauge" | "histogram";
  /** The values, one per set of labels. */
  readonly samples: readonly Sample[];
}

/** The media type of a page in this format. */
export const EXPOSITION_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/**
 * Formats metric families as a page.
 *
 * @example
 * ```ts
 * import { prometheusText } from "./prometheus_text.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const up = { name: "up", help: "Whether it is up.", type: "gauge" } as const;
 * assertEquals(
 *   prometheusText([{ ...up, samples: [{ value: 0, labels: { server: 'a"b' } }] }]),
 *   '# HELP up Whether it is up.\n# TYPE up gauge\nup{server="a\\"b"} 0\n',
 * );
 * ```
 */
export function prometheusText(families: readonly Family[]): string {
  const lines: string[] = [];
  for (const { name, help, type, samples } of families) {
    lines.push(`# HELP ${name} ${escaped(help)}`, `# TYPE ${name} ${type}`);
    for (const { value, labels, suffix = "" } of samples) {
      lines.push(`${name}${suffix}${labels === undefined ? "" : braced(labels)} ${number(value)}`);
    }
  }
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}

function braced(labels: Readonly<Record<string, string>>): string {
  let pairs = "";
  for (const name in labels) {
    const value = labels[name];
    const text = SPECIAL.test(value) ? escaped(value).replaceAll('"', '\\"') : value;
    pairs += `${pairs === "" ? "" : ","}${name}="${text}"`;
  }
  return `{${pairs}}`;
}

/** Characters that are escaped or, like half a surrogate pair, replaced. Most labels have none. */
const SPECIAL = /["\\\n\ud800-\udfff]/;

/** Escapes a text for one line. */
function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")
    .toWellFormed();
}

function number(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
}

/** A histogram: counts values by bucket. */
export class Histogram {
  readonly #counts: number[];
  #sum = 0;
  #count = 0;

  /** @param bounds Upper bounds of the buckets, in ascending order, without `+Inf`. */
  constructor(private readonly bounds: readonly number[]) {
    this.#counts = bounds.map(() => 0);
  }

  add(value: number): void {
    this.#sum += value;
    this.#count++;
    const at = this.bounds.findIndex((bound) => value <= bound);
    if (at >= 0) this.#counts[at]++;
  }

  /** The samples of a family of type `histogram`. */
  get samples(): Sample[] {
    let below = 0;
    const buckets = this.bounds.map((bound, i): Sample => ({
      suffix: "_bucket",
      labels: { le: String(bound) },
      value: below += this.#counts[i],
    }));
    return [
      ...buckets,
      { suffix: "_bucket", labels: { le: "+Inf" }, value: this.#count },
      { suffix: "_sum", value: this.#sum },
      { suffix: "_count", value: this.#count },
    ];
  }
}
