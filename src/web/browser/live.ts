/** Keeps the page of a running scan up to date by server-sent events. */
import { chartIn } from "./charts.ts";
import { countersIn } from "./counters.ts";
import { replaceFragments } from "./fresh_fragments.ts";

/** A server that the scan found. */
interface Find {
  readonly id: number;
  readonly key: string;
  readonly name: string | null;
  readonly version: string | null;
  readonly software: string | null;
  readonly players_online: number | null;
  readonly players_max: number | null;
}

/** The state of a scan, as `/api/live` sends it. */
interface LiveScan {
  readonly state: string;
  readonly started_at: number | null;
  readonly heartbeat_at: number | null;
  readonly ends_at: number | null;
  readonly position: number;
  readonly total: number;
  readonly probes_sent: number;
  readonly replies: number;
  readonly found: number;
  readonly packet_loss: number | null;
  readonly rows_lost: number;
  readonly parts: number;
  readonly parts_done: number;
  readonly parts_running: number;
  readonly parts_stale: number;
  readonly parts_poisoned: number;
  readonly parts_cancelled: number;
  readonly rate: number | null;
  readonly counters: unknown;
  readonly probes_per_second: number | null;
  readonly replies_per_second: number | null;
  readonly rates_since: number | null;
  readonly finds: readonly Find[];
}

/** The state of a file of `--status-file`. Another program may have written anything. */
interface StatusFile {
  readonly state: Readonly<Record<string, unknown>> | null;
}

const count = (value: number) => Math.round(value).toLocaleString("en");

/** A duration in its two largest units. */
function durationText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  if (hours > 0) return `${hours} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}

/** Writes a text into an element of the page, if the page has it. */
function write(name: string, text: string): void {
  const element = document.querySelector(`[data-live="${name}"]`);
  if (element !== null && element.textContent !== text) element.textContent = text;
}

/** The page of a running scan. */
class LivePage {
  readonly #root: HTMLElement;
  #stream: EventSource | undefined;
  #heartbeat = 0;

  constructor(root: HTMLElement) {
    this.#root = root;
  }

  /** Opens the stream in a visible tab, and closes it in a hidden one: browsers have few connections. */
  follow(): void {
    if (document.hidden) {
      this.#stream?.close();
      this.#stream = undefined;
    } else if (this.#stream === undefined) {
      this.#stream = new EventSource(
        `/api/live?scan=${encodeURIComponent(this.#root.dataset.scan!)}`,
      );
      this.#stream.addEventListener("state", (event) => {
        const { scans, status } = JSON.parse(event.data);
        this.#showCounters(scans[0], status);
        this.#show(scans[0]);
      });
    }
  }

  #show(scan: LiveScan | undefined): void {
    if (scan === undefined) return;
    if (scan.state !== "running") {
      this.#stream?.close();
      location.reload(); // the page of a scan that ended has no script
      return;
    }
    this.#showNumbers(scan);
    this.#showRates(scan);
    this.#showFinds(scan.finds);
    replaceFragments("[data-live-parts]");
  }

  #showNumbers(scan: LiveScan): void {
    const { position, total, started_at: start, heartbeat_at: now, ends_at: end } = scan;
    const share = total > 0 ? Math.min(1, position / total) : 0;
    write("share", `${(100 * share).toFixed(1)} %`);
    write("position", count(position));
    write("ends", end === null ? "" : `ends in ${durationText(end - Date.now())}`);
    write("found", count(scan.found));
    write("probes", count(scan.probes_sent));
    write("replies", count(scan.replies));
    if (start !== null && now !== null) write("duration", durationText(now - start));
    if (scan.packet_loss !== null) write("loss", `${(100 * scan.packet_loss).toFixed(2)} %`);
    write("rows-lost", count(scan.rows_lost));
    const { parts_done, parts_running, parts_stale, parts_poisoned, parts_cancelled } = scan;
    const queued = scan.parts - parts_done - parts_running - parts_stale - parts_poisoned -
      parts_cancelled;
    write("parts-done", count(parts_done));
    write("parts-running", count(parts_running));
    write("parts-stale", count(parts_stale));
    write("parts-queued", count(Math.max(0, queued)));
    write("parts-poisoned", count(parts_poisoned));
    write("parts-cancelled", count(parts_cancelled));
    if (scan.rate !== null) write("rate", `${count(scan.rate)} packets a second`);
    const bar = this.#root.querySelector(".progress-card .fill");
    bar?.setAttribute("width", `${100 * share}%`);
  }

  #showRates(scan: LiveScan): void {
    const { rates_since: since, heartbeat_at: at } = scan;
    if (since === null || at === null || at === this.#heartbeat) return;
    this.#heartbeat = at;
    for (const name of ["probes", "replies"] as const) {
      const rate = scan[`${name}_per_second`];
      const element = this.#root.querySelector(`[data-live-chart="${name}"]`);
      if (element !== null) chartIn(element)?.add([since, at, rate]);
      write(`${name}-rate`, rate === null ? "" : count(rate));
    }
  }

  /** Lists the counters of the scan: those of its status file, if `serve` reads it, are newer. */
  #showCounters(scan: LiveScan | undefined, files: readonly StatusFile[]): void {
    const file = files.find(({ state }) => state?.scan_id === this.#root.dataset.scan);
    const list = this.#root.querySelector("[data-live-counters]");
    const counters = countersIn(file?.state ?? scan?.counters);
    if (counters.length === 0 || list === null) return;
    list.replaceChildren(...counters.flatMap(([title, value]) => {
      const [name, number] = [document.createElement("dt"), document.createElement("dd")];
      [name.textContent, number.textContent] = [title, count(value)];
      return [name, number];
    }));
  }

  #showFinds(finds: readonly Find[]): void {
    const list = this.#root.querySelector("[data-live-finds]");
    if (list === null || finds.length === 0) return;
    list.replaceChildren(...finds.map((find) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = `/servers/${find.id}`;
      const name = document.createElement("bdi");
      name.textContent = find.name ?? find.key;
      link.append(name);
      const facts = [
        find.key,
        `${find.players_online ?? "?"} / ${find.players_max ?? "?"} players`,
        find.version ?? "",
        find.software ?? "",
      ].map((text) => {
        const fact = document.createElement("span");
        fact.textContent = text;
        return fact;
      });
      item.append(link, ...facts);
      return item;
    }));
  }
}

const root = document.querySelector<HTMLElement>("[data-scan]");
if (root !== null) {
  const page = new LivePage(root);
  document.addEventListener("visibilitychange", () => page.follow());
  page.follow();
}
