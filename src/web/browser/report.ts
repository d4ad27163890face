/** The table of a report: reads the rows of the file, and filters, sorts and shows them. */
import type { ReportColumns } from "./report_columns.ts";

/** Number of rows of a page. */
const PAGE = 25;
/** Number of values of a list. */
const MAX_VALUES = 200;
const UNKNOWN = "–";

/** A row. Texts that are unknown are empty. */
interface Row {
  readonly host: string;
  /** What addresses are sorted by: IPv4 addresses as numbers, others behind them. */
  readonly address: number;
  readonly port: number;
  readonly online: boolean;
  /** The name with its styles, and as it is shown. */
  readonly runs: string;
  readonly name: string;
  readonly players: number | null;
  readonly slots: number | null;
  readonly version: string;
  /** The index of the version in release order; null: unknown. */
  readonly release: number | null;
  readonly software: string;
  readonly edition: string;
  readonly country: string;
  readonly operator: string;
  readonly protocols: string;
  readonly age: number;
  readonly latency: number | null;
  /** The texts that are searched, in lower case. */
  readonly search: string;
}

/** Reads the data block: base64 of deflated JSON. */
async function readColumns(block: Element): Promise<ReportColumns> {
  const bytes = Uint8Array.from(atob(block.textContent ?? ""), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return await new Response(stream).json();
}

function rowsOf(columns: ReportColumns): Row[] {
  const { texts } = columns;
  const order = new Map(columns.versionOrder.map((code, i) => [code, i]));
  let last = 0;
  return columns.hosts.map((host, i) => {
    if (typeof host === "number") last += host;
    const runs = columns.names[i];
    const row = {
      host: typeof host === "number" ? addressText(last) : host,
      address: typeof host === "number" ? last : 2 ** 32 + i,
      port: columns.ports[i],
      online: columns.online[i] === 1,
      runs,
      name: runs.split("\r").map(textOf).join(""),
      players: columns.players[i],
      slots: columns.slots[i],
      version: texts[columns.versions[i]],
      release: order.get(columns.versions[i]) ?? null,
      software: texts[columns.software[i]],
      edition: texts[columns.editions[i]],
      country: texts[columns.countries[i]],
      operator: texts[columns.operators[i]],
      protocols: texts[columns.protocols[i]],
      age: columns.ages[i],
      latency: columns.latencies[i],
    };
    const words = [row.name, keyOf(row), row.version, row.software, row.operator];
    return { ...row, search: words.join("\n").toLowerCase() };
  });
}

/** The text of a run, which may have letters of classes in front. */
function textOf(run: string): string {
  return run.slice(run.indexOf("\t") + 1);
}

function addressText(address: number): string {
  return [24, 16, 8, 0].map((shift) => address >>> shift & 255).join(".");
}

function keyOf({ host, port }: Pick<Row, "host" | "port">): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** An element with a class and content. */
function make(name: string, className: string, ...content: (Node | string)[]): HTMLElement {
  const element = document.createElement(name);
  if (className !== "") element.className = className;
  element.append(...content);
  return element;
}

function cell(className: string, ...content: (Node | string)[]): HTMLElement {
  const element = make("td", className, ...content);
  element.setAttribute("role", "cell");
  return element;
}

function textOrNone(text: string): HTMLElement {
  return text === "" ? make("span", "none", UNKNOWN) : make("bdi", "", text);
}

/** The name of a server. A server without a visible one has its key. */
function nameElement({ runs, name, ...row }: Row): HTMLElement {
  if (name === "") return make("div", "server-name", make("bdi", "", keyOf(row)));
  const parts = runs.split("\r").map((run) => {
    const letters = run.slice(0, Math.max(0, run.indexOf("\t")));
    const classes = [...letters].map((letter) => `mc-${letter}`).join(" ");
    return classes === "" ? textOf(run) : make("span", classes, textOf(run));
  });
  return make("div", "server-name", make("bdi", "mc", ...parts));
}

/** A dot with the state, and the state in words for screen readers. */
function stateDot(online: boolean): HTMLElement {
  const state = online ? "online" : "offline";
  const dot = make("span", `dot ${state}`, make("span", "hidden", state));
  dot.title = state;
  return dot;
}

function addressElements(row: Row): Node[] {
  const parts: Node[] = [
    stateDot(row.online),
    make("span", "address", make("code", "", keyOf(row))),
  ];
  if (row.country !== "" || row.operator !== "") {
    const country = row.country === "" ? [] : [make("abbr", "badge", row.country)];
    parts.push(make("small", "geoip", ...country, make("bdi", "", row.operator)));
  }
  return parts;
}

/** Players and slots, with a bar of the share. */
function playersElement({ online, players, slots }: Row): HTMLElement {
  if (!online || players === null) return make("span", "none", UNKNOWN);
  const text = make("span", "", make("b", "", countText(players)));
  if (slots !== null) text.append(make("small", "", ` / ${countText(slots)}`));
  return make("span", "players", text, bar(slots === null || slots <= 0 ? 0 : players / slots));
}

function bar(share: number): SVGElement {
  const make = (name: string, values: Record<string, string>) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name) as SVGElement;
    for (const [key, value] of Object.entries(values)) element.setAttribute(key, value);
    return element;
  };
  const width = `${(100 * Math.min(1, Math.max(0, share))).toFixed(1)}%`;
  const svg = make("svg", { class: "bar s0", width: "100%", height: "4", "aria-hidden": "true" });
  svg.append(
    make("rect", { class: "track", width: "100%", height: "4", rx: "2" }),
    make("rect", { class: "fill", width, height: "4", rx: "2" }),
  );
  return svg;
}

function rowElement(row: Row): HTMLElement {
  const badges = row.protocols.split(" ").filter((name) => name !== "")
    .map((name) => make("span", "badge", name));
  const element = make(
    "tr",
    row.online ? "" : "is-offline",
    cell("c-name", nameElement(row)),
    cell("c-address", ...addressElements(row)),
    cell("c-players", playersElement(row)),
    cell("c-version", textOrNone(row.version)),
    cell("c-software", make("span", "software", textOrNone(row.software))),
    cell("c-protocols", make("span", "badges", ...badges)),
    cell("c-seen", ageText(row.age), make("small", "", latencyText(row.latency))),
  );
  element.setAttribute("role", "row");
  return element;
}

function countText(count: number): string {
  return count.toLocaleString("en-US");
}

/** Minutes before the report. */
function ageText(minutes: number): string {
  if (minutes < 120) return `${minutes} min before`;
  if (minutes < 2880) return `${Math.floor(minutes / 60)} h before`;
  return `${countText(Math.floor(minutes / 1440))} d before`;
}

function latencyText(tenths: number | null): string {
  return tenths === null ? UNKNOWN : `${tenths / 10} ms`;
}

/** What rows are sorted by, in the order of a first click. Unknown values come last. */
const SORTS: Readonly<Record<string, (row: Row) => number | string | null>> = {
  name: ({ name }) => name === "" ? null : name.toLowerCase(),
  address: ({ address, port }) => address * 65_536 + port,
  players: ({ players, online }) => online ? players : null,
  version: ({ release }) => release,
  software: ({ software }) => software === "" ? null : software.toLowerCase(),
  seen: ({ age }) => age,
};

function sorted(rows: readonly Row[], name: string, isDescending: boolean): Row[] {
  const sign = isDescending ? -1 : 1;
  const keyed = rows.map((row) => ({ row, key: SORTS[name](row) }));
  keyed.sort(({ key: a }, { key: b }) => {
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return a < b ? -sign : a > b ? sign : 0;
  });
  return keyed.map(({ row }) => row);
}

/** The columns of lists, and the value of a row in each. */
const LISTS: Readonly<Record<string, (row: Row) => string>> = {
  editions: ({ edition }) => edition,
  software: ({ software }) => software,
  versions: ({ version }) => version,
  countries: ({ country }) => country,
};

/** The element with a name in its `data-` attributes. */
function elementOf<Kind extends HTMLElement>(name: string): Kind {
  return document.querySelector<Kind>(`[data-${name}]`)!;
}

/** The table, and what a reader chose. */
class ServerTable {
  #rows: Row[];
  #shown: Row[] = [];
  #page = 0;
  #sort = "players";
  #isDescending = true;
  readonly #body = document.querySelector<HTMLElement>("[data-servers] tbody")!;
  readonly #lists = [...document.querySelectorAll<HTMLSelectElement>("[data-list]")];

  constructor(rows: Row[]) {
    this.#rows = sorted(rows, this.#sort, this.#isDescending);
    for (const list of this.#lists) fillList(list, rows);
    this.#listen();
    for (const name of ["filters", "servers"]) elementOf(name).hidden = false;
    this.#filter();
  }

  #listen(): void {
    elementOf("text").addEventListener("input", () => this.#filter());
    elementOf("filters").addEventListener("change", () => this.#filter());
    elementOf("previous").addEventListener("click", () => this.#turn(-1));
    elementOf("next").addEventListener("click", () => this.#turn(1));
    for (const head of document.querySelectorAll<HTMLElement>("[data-sort]")) {
      head.addEventListener("click", () => this.#sortBy(head.dataset.sort!));
    }
  }

  #sortBy(name: string): void {
    this.#isDescending = name === this.#sort ? !this.#isDescending : name === "players";
    this.#sort = name;
    this.#rows = sorted(this.#rows, name, this.#isDescending);
    this.#filter();
  }

  #filter(): void {
    const words = elementOf<HTMLInputElement>("text").value.toLowerCase().trim();
    const state = elementOf<HTMLSelectElement>("state").value;
    const lists = this.#lists.filter(({ value }) => value !== "")
      .map(({ value, dataset }) => [LISTS[dataset.list!], value] as const);
    this.#shown = this.#rows.filter((row) =>
      (state === "" || row.online === (state === "1")) &&
      lists.every(([valueOf, value]) => valueOf(row) === value) &&
      (words === "" || row.search.includes(words))
    );
    this.#page = 0;
    this.#show();
  }

  #turn(pages: number): void {
    this.#page += pages;
    this.#show();
    elementOf("servers").scrollIntoView();
  }

  #show(): void {
    const [first, count] = [this.#page * PAGE, this.#shown.length];
    const rows = this.#shown.slice(first, first + PAGE);
    this.#body.replaceChildren(...rows.map(rowElement));
    const all = this.#rows.length;
    elementOf("count").textContent = count === all
      ? `${countText(all)} rows`
      : `${countText(count)} of ${countText(all)} rows`;
    elementOf("page").textContent = count === 0
      ? "No server matches these filters."
      : `${countText(first + 1)} to ${countText(first + rows.length)}`;
    elementOf("paging").hidden = count > 0 && count <= PAGE;
    elementOf<HTMLButtonElement>("previous").disabled = first === 0;
    elementOf<HTMLButtonElement>("next").disabled = first + PAGE >= count;
    for (const head of document.querySelectorAll<HTMLElement>("[data-sort]")) {
      if (head.dataset.sort !== this.#sort) head.removeAttribute("aria-sort");
      else head.setAttribute("aria-sort", this.#isDescending ? "descending" : "ascending");
    }
  }
}

/** Adds the most frequent values of a column to a list. */
function fillList(list: HTMLSelectElement, rows: readonly Row[]): void {
  const counts = new Map<string, number>();
  for (const row of rows) {
    const value = LISTS[list.dataset.list!](row);
    if (value !== "") counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  const values = [...counts].sort((a, b) => b[1] - a[1]).slice(0, MAX_VALUES);
  for (const [value, count] of values) {
    list.append(new Option(`${value} (${countText(count)})`, value));
  }
}

readColumns(document.querySelector("#rows")!).then((columns) => new ServerTable(rowsOf(columns)));
