/** Covers src/app/metrics/ and src/app/settings/metrics_address.ts. */
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { VERSION } from "../../../src/app/metrics/build_info.ts";
import { Histogram, prometheusText } from "../../../src/app/metrics/prometheus_text.ts";
import { parseMetrics } from "../../../src/app/settings/metrics_address.ts";
import {
  MetricsPage,
  type MetricsSources,
  serveMetrics,
} from "../../../src/app/metrics/metrics_server.ts";
import { gauge, scanFamilies } from "../../../src/app/metrics/scan_metrics.ts";
import { type MeasuredWatch, WatchMetrics } from "../../../src/app/metrics/watch_metrics.ts";
import { ServerInfoSeries } from "../../../src/app/metrics/server_info.ts";
import { InputError } from "../../../src/core/errors.ts";
import { emptyRecord } from "../../../src/core/record.ts";
import { newState } from "../../../src/scan/setup/scan_state.ts";
import type { Journal } from "../../../src/watch/journal.ts";
import { newWatchCounts } from "../../../src/watch/watch.ts";
import { WatchedServer } from "../../../src/watch/watched_server.ts";
import { run, SCAN } from "../../cli/program.ts";
import { freePort } from "../../fakes/free_port.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";

/** The series of each server. */
const SERIES = ["up", "players", "players_max", "latency_seconds"];

const RULES = {
  intervalMs: 5000,
  downAfter: 2,
  scanId: "w",
  newEventId: () => "event",
  allProtocols: PROTOCOLS,
};

/** Metrics of a watch of these servers. */
function measured(servers: readonly WatchedServer[], more: Partial<MeasuredWatch> = {}) {
  const clock = { now: () => 0 };
  return new WatchMetrics({ servers, counts: newWatchCounts(), journals: [], clock, ...more });
}

/** The metrics of a scan without databases. */
const SOURCES: MetricsSources = {
  collect: () => scanFamilies(newState("s", 0)),
  health: () => ({ failures: [], numbers: {} }),
};

/** Checks that every line conforms to the format, and that no time series occurs twice. */
function check(page: string): Map<string, string> {
  const values = new Map<string, string>();
  const seen = new Set<string>();
  let family = "";
  for (const line of page.trimEnd().split("\n")) {
    const [, kind, name] = /^# (HELP|TYPE) ([a-z_]+) [^\n]+$/.exec(line) ?? [];
    if (name !== undefined) {
      if (kind === "HELP") assert(!seen.has(name), line);
      seen.add(family = name);
      continue;
    }
    const pattern = /^([a-z_]+)(\{([a-z]+="(?:[^"\\\n]|\\["\\n])*",?)+\})? (NaN|[+-]?[\d.e+-]+)$/;
    const match = pattern.exec(line);
    assert(match !== null && match[1].startsWith(family), line);
    const [series] = line.split(/ (?=[^ ]+$)/);
    assert(!values.has(series), line);
    values.set(series, match[4]);
  }
  return values;
}

Deno.test("labels and help are escaped, and numbers have Prometheus' format", () => {
  const page = prometheusText([
    {
      ...{ name: "a", help: "one\\\ntwo", type: "gauge" },
      samples: [
        { value: NaN, labels: { x: 'q"\\\n', y: "\ud800" } },
        { value: Infinity },
        { value: 1e21 },
      ],
    },
  ]);
  assertEquals(page.split("\n"), [
    "# HELP a one\\\\\\ntwo",
    "# TYPE a gauge",
    'a{x="q\\"\\\\\\n",y="\ufffd"} NaN',
    "a +Inf",
    "a 1e+21",
    "",
  ]);
  const histogram = new Histogram([1, 5]);
  for (const value of [0.5, 1, 2, 9]) histogram.add(value);
  assertEquals(histogram.samples.map(({ value }) => value), [2, 3, 4, 12.5, 4]);
});

const ROW = {
  ...emptyRecord({ address: 0x7f000001, port: 1 }, 5),
  ...{ players_online: 7, players_max: 20, latency_ms: 20 },
};

/** Two servers, and the values of the series of the first one. */
function measuredServer() {
  const servers = [1, 2].map((port) =>
    new WatchedServer({ address: 0x7f000001, port }, null, RULES)
  );
  const metrics = measured(servers);
  const all = () => check(prometheusText(metrics.families()));
  const series = () => {
    const values = all();
    return SERIES.map((name) => values.get(`blocksweep_${name}{server="127.0.0.1:1"}`));
  };
  return { server: servers[0], metrics, all, series };
}

Deno.test("an offline server has the value 0, and no time series disappears", () => {
  const { server, metrics, all, series } = measuredServer();
  const before = all();
  assertEquals(series(), Array(4).fill("NaN"));
  const [online] = server.addReply(ROW, 1);
  server.reported(online);
  metrics.add(online);
  metrics.late(20);
  assertEquals(series(), ["1", "7", "20", "0.02"]);
  assertEquals(server.addFailure(2), []);
  assertEquals(series()[0], "1");
  server.reported(server.addFailure(3)[0]);
  assertEquals(series(), ["0", "0", "20", "NaN"]);
  const down = all();
  assertEquals([...down.keys()], [...before.keys()]);
  assertEquals(down.get('blocksweep_events_total{event="online"}'), "1");
  assertEquals(down.get('blocksweep_poll_delay_seconds_bucket{le="0.1"}'), "1");
});

Deno.test("the metrics of a server follow the reported events, like alerts of a webhook", () => {
  const { server, all, series } = measuredServer();
  const states = () =>
    ["online", "offline"].map((state) => all().get(`blocksweep_servers{state="${state}"}`));
  const [online] = server.addReply(ROW, 1);
  assertEquals([series()[0], states()], ["NaN", ["0", "0"]]);
  server.reported(online);
  assertEquals([series()[0], states()], ["1", ["1", "0"]]);
  server.addFailure(2);
  const [offline] = server.addFailure(3);
  // Another watch gets replies, or the database is still to decide.
  assertEquals([series(), states()], [["1", "NaN", "20", "NaN"], ["1", "0"]]);
  server.reported(offline);
  assertEquals([series(), states()], [["0", "0", "20", "NaN"], ["0", "1"]]);
  const [again] = server.addReply(ROW, 4);
  assertEquals([series(), states()], [["0", "0", "20", "NaN"], ["0", "1"]]);
  server.reported(again);
  assertEquals([series(), states()], [["1", "7", "20", "0.02"], ["1", "0"]]);
});

Deno.test("each name of an address has a time series of its own, which stays when the address changes", () => {
  const series = (address: number, names: readonly (string | null)[]) => {
    const servers = names.map((name) => new WatchedServer({ address, port: 25565 }, name, RULES));
    const values = check(prometheusText(measured(servers).families()));
    return [...values.keys()].filter((key) => key.startsWith("blocksweep_up{"));
  };
  const names = ["a.example.org", "B.example.org", null];
  assertEquals(series(0x7f000001, names), [
    'blocksweep_up{server="a.example.org:25565"}',
    'blocksweep_up{server="b.example.org:25565"}',
    'blocksweep_up{server="127.0.0.1:25565"}',
  ]);
  assertEquals(series(0x7f000002, names.slice(0, 2)), series(0x7f000001, names).slice(0, 2));
});

Deno.test("the numbers of servers by state count an address and port once", () => {
  const names = ["a.example.org", "b.example.org", null];
  const named = names.map((name) =>
    new WatchedServer({ address: 0x7f000001, port: 25565 }, name, RULES)
  );
  const other = new WatchedServer({ address: 0x7f000001, port: 25566 }, null, RULES);
  const states = () => {
    const values = check(prometheusText(measured([...named, other]).families()));
    return ["online", "offline", "unknown"].map((state) =>
      values.get(`blocksweep_servers{state="${state}"}`)
    );
  };
  assertEquals(states(), ["0", "0", "2"]);
  for (const server of [...named, other]) server.reportedOnline = false;
  assertEquals(states(), ["0", "2", "0"]);
  named[1].reportedOnline = true;
  assertEquals(states(), ["1", "1", "0"]);
});

Deno.test("the number of time series is bounded", () => {
  const servers = Array.from(
    { length: 10_100 },
    (_, port) => new WatchedServer({ address: 0x7f000001, port: port + 1 }, null, RULES),
  );
  const values = check(prometheusText(measured(servers).families()));
  assertEquals(values.get("blocksweep_servers_without_series"), "100");
  assert(values.size < 40_050, String(values.size));
});

Deno.test("info series have servers' texts escaped, cut at 64 characters, and changed once an hour", () => {
  const server = new WatchedServer({ address: 0x7f000001, port: 1 }, null, RULES);
  let now = 0;
  const metrics = measured([server], { info: new ServerInfoSeries(), clock: { now: () => now } });
  const info = () =>
    prometheusText(metrics.families()).split("\n")
      .filter((line) => line.startsWith("blocksweep_server_info{"));
  assertEquals(info(), []);
  const hostile = 'a"} 1\nup{x="\\\u001b[2J\u202e';
  server.addReply({
    ...emptyRecord(server.endpoint, 5),
    ...{ name: `${hostile}${"x".repeat(200_000)}🎮`, edition: "java", version: "1.21" },
  }, 1);
  check(prometheusText(metrics.families()));
  const name = `a\\"} 1\u240aup{x=\\"\\\\\u241b[2J\ufffd${"x".repeat(64 - hostile.length)}`;
  const labels = `server="127.0.0.1:1",name="${name}",edition="java",software="",version="1.21"`;
  assertEquals(info(), [`blocksweep_server_info{${labels}} 1`]);
  server.addReply({ ...server.row!, name: "🎮".repeat(40) }, 2);
  now = 3_599_999;
  assertEquals(info(), [`blocksweep_server_info{${labels}} 1`]);
  now = 3_600_000;
  assertEquals(info(), [`blocksweep_server_info{${labels.replace(name, "🎮".repeat(32))}} 1`]);
});

Deno.test("the backlogs of databases and the webhook are counted", () => {
  const journals = [{ written: 5, lost: 2, waiting: 7, failing: true }, {
    ...{ written: 1, lost: 0, waiting: 1, failing: false },
  }] as unknown as readonly Journal[];
  const webhooks = [{ delivered: 9, lost: 3, waiting: 11 }];
  const values = check(prometheusText(measured([], { journals, webhooks }).families()));
  assertEquals(
    [
      ...["database_backlog", "databases_failing", "observations_written_total"],
      ...["webhook_backlog", "webhook_events_delivered_total", "webhook_events_lost_total"],
    ].map((name) => values.get(`blocksweep_${name}`)),
    ["8", "1", "6", "11", "9", "3"],
  );
  const databases = [{ waiting: 4, failing: true }];
  const scan = check(prometheusText(scanFamilies(newState("s", 0), databases)));
  assertEquals(scan.get("blocksweep_database_backlog"), "4");
  assertEquals(scan.get("blocksweep_databases_failing"), "1");
});

Deno.test("the metrics of a scan exist from its start", () => {
  const values = check(prometheusText(scanFamilies(newState("s", 0))));
  for (const name of ["probes_sent_total", "rows_lost_total", "inspections"]) {
    assertEquals(values.get(`blocksweep_${name}`), "0");
  }
  assertEquals(values.get('blocksweep_replies_total{class="forged"}'), "0");
  // The number of unverified replies decreases, but a counter only increases.
  assertEquals(values.get('blocksweep_replies_total{class="unverified"}'), undefined);
  assertEquals(values.get("blocksweep_replies_unverified"), "0");
});

Deno.test("the replies to SYN packets and the open ports add up: each is counted once", () => {
  const state = newState("s", 0);
  Object.assign(state.tcp.counts, { open: 3, valid: 2, unresponsive: 1, refused: 4 });
  const values = [...check(prometheusText(scanFamilies(state)))];
  const sumOf = (family: string) =>
    values.filter(([name]) => name.startsWith(`blocksweep_${family}_total{`))
      .reduce((sum, [, value]) => sum + Number(value), 0);
  assertEquals([sumOf("syn_replies"), sumOf("open_ports")], [7, 3]);
});

Deno.test("metrics are served under /metrics, and the shutdown does not wait for clients", async () => {
  const port = freePort();
  const address = parseMetrics(String(port));
  const url = `http://127.0.0.1:${port}`;
  {
    await using _served = serveMetrics(
      address,
      SOURCES,
      unexpected,
    );
    const page = await fetch(`${url}/metrics`);
    assertEquals(page.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    const values = check(await page.text());
    const versions = `version="${VERSION}",deno="${Deno.version.deno}"`;
    assertEquals(values.get(`blocksweep_build_info{${versions}}`), "1");
    const health = await fetch(`${url}/healthz`);
    assertEquals([health.status, await health.text()], [200, '{"status":"ok"}\n']);
    for (
      const [path, method, status] of [
        ["/", "GET", 404],
        ["/probe", "GET", 404],
        ["/constructor", "GET", 404],
        ["/metrics", "POST", 405],
      ] as const
    ) {
      const other = await fetch(url + path, { method });
      await other.body?.cancel();
      assertEquals(other.status, status);
    }
    assertThrows(
      () => serveMetrics(address, SOURCES, unexpected),
      InputError,
      "Cannot serve metrics on 127.0.0.1",
    );
    const slow = await Deno.connect({ hostname: "127.0.0.1", port });
    await slow.write(new TextEncoder().encode("GET /metrics HTTP/1.1\r\nHost: x\r\n"));
    queueMicrotask(() => slow.close());
  }
  await fetch(url).then((page) => page.body?.cancel(), () => {});
});

Deno.test("invalid addresses and ports are refused; a missing permission names its flag", async () => {
  for (const text of ["0", "70000", "x:1", "1.2.3.4", "1.2.3.4:0", ""]) {
    assertThrows(() => parseMetrics(text), InputError, "--metrics");
  }
  assertEquals(parseMetrics("localhost:5"), { hostname: "127.0.0.1", port: 5 });
  const { code, stderr } = await run(
    ["watch", "127.0.0.1:9", "--metrics", "127.46.0.1:9150"],
    { permissions: ["--allow-net=0.0.0.0,127.0.0.1", ...SCAN.slice(1)] },
  );
  assertEquals(code, 2);
  assertStringIncludes(stderr, "--allow-net");
});

function unexpected(reason: string): never {
  throw new Error(reason);
}

const PLAIN = { headers: new Map<string, string>() };
const GZIP = { headers: new Map([["accept-encoding", "gzip"]]) };

Deno.test("a page is rendered once a second, and is the same with and without gzip", async () => {
  let now = 0;
  let rendered = 0;
  const page = new MetricsPage(() => [gauge("rendered", "Renderings.", ++rendered)], {
    now: () => now,
  });
  const plain = page.respond(PLAIN);
  const gzipped = page.respond(GZIP);
  assertEquals(plain.headers!["content-encoding"], undefined);
  assertEquals(gzipped.headers!["content-encoding"], "gzip");
  assertEquals(
    [plain, gzipped].map(({ headers }) => headers!.vary),
    Array(2).fill("Accept-Encoding"),
  );
  const stream = new Blob([gzipped.body]).stream().pipeThrough(new DecompressionStream("gzip"));
  assertEquals(await new Response(stream).bytes(), plain.body);
  now = 999;
  assertEquals(page.respond(GZIP).body, gzipped.body);
  assertEquals(rendered, 1);
  now = 1000;
  assert(new TextDecoder().decode(page.respond(PLAIN).body).endsWith("rendered 2\n"));
  assert(page.respond(GZIP).body !== gzipped.body);
  assertEquals(rendered, 2);
});
