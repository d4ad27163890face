/** Covers src/app/metrics/. */
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { Histogram, prometheusText } from "../../../src/app/metrics/prometheus_text.ts";
import { parseMetrics } from "../../../src/app/metrics/metrics_place.ts";
import { serveMetrics } from "../../../src/app/metrics/metrics_server.ts";
import { scanFamilies } from "../../../src/app/metrics/scan_metrics.ts";
import { WatchMetrics } from "../../../src/app/metrics/watch_metrics.ts";
import { InputError } from "../../../src/core/errors.ts";
import { emptyRecord } from "../../../src/core/record.ts";
import { newState } from "../../../src/scan/scan_state.ts";
import { newWatchCounts, WatchedServer } from "../../../src/watch/mod.ts";
import { run, SCAN } from "../../cli/program.ts";

/** Every line is as the format wants it, and no series is there twice. */
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

Deno.test("an offline server has the value 0, and no time series disappears", () => {
  const rules = { intervalMs: 5000, downAfter: 2, scanId: "w", newEventId: () => "event" };
  const servers = [1, 2].map((port) =>
    new WatchedServer({ address: 0x7f000001, port }, null, rules)
  );
  const metrics = new WatchMetrics(servers, newWatchCounts(), []);
  const row = {
    ...emptyRecord({ address: 0x7f000001, port: 1 }, 5),
    ...{ players_online: 7, latency_ms: 20 },
  };
  const values = () => check(prometheusText(metrics.families()));
  const one = '{server="127.0.0.1:1"}';
  const before = values();
  assertEquals(before.get(`blocksweep_up${one}`), "NaN");
  metrics.add(servers[0].addReply(row, 1)[0]);
  metrics.late(20);
  const up = values();
  assertEquals(
    ["up", "players", "latency_seconds"].map((name) => up.get(`blocksweep_${name}${one}`)),
    ["1", "7", "0.02"],
  );
  servers[0].addFailure(2);
  assertEquals(values().get(`blocksweep_up${one}`), "1");
  servers[0].addFailure(3);
  const down = values();
  assertEquals(
    ["up", "players", "latency_seconds"].map((name) => down.get(`blocksweep_${name}${one}`)),
    ["0", "0", "NaN"],
  );
  assertEquals([...down.keys()], [...before.keys()]);
  assertEquals(down.get('blocksweep_events_total{event="online"}'), "1");
  assertEquals(down.get('blocksweep_poll_delay_seconds_bucket{le="0.1"}'), "1");
});

Deno.test("the number of time series is bounded", () => {
  const rules = { intervalMs: 5000, downAfter: 2, scanId: "w", newEventId: () => "event" };
  const servers = Array.from(
    { length: 10_100 },
    (_, port) => new WatchedServer({ address: 0x7f000001, port: port + 1 }, null, rules),
  );
  const values = check(prometheusText(new WatchMetrics(servers, newWatchCounts(), []).families()));
  assertEquals(values.get("blocksweep_servers_without_series"), "100");
  assert(values.size < 30_050, String(values.size));
});

Deno.test("the metrics of a scan exist from its start", () => {
  const values = check(prometheusText(scanFamilies(newState("s", 0))));
  for (const name of ["probes_sent_total", "rows_lost_total", "inspections"]) {
    assertEquals(values.get(`blocksweep_${name}`), "0");
  }
  assertEquals(values.get('blocksweep_replies_total{class="forged"}'), "0");
  // Unverified replies become fewer, and a counter only grows.
  assertEquals(values.get('blocksweep_replies_total{class="unverified"}'), undefined);
  assertEquals(values.get("blocksweep_replies_unverified"), "0");
});

Deno.test("the connections of a scan add up: each has one outcome", () => {
  const state = newState("s", 0);
  Object.assign(state.tcp.counts, { open: 3, valid: 2, unresponsive: 1, refused: 4 });
  const values = [...check(prometheusText(scanFamilies(state)))];
  const outcomes = values.filter(([name]) => name.startsWith("blocksweep_connections_total{"));
  assertEquals(outcomes.reduce((sum, [, value]) => sum + Number(value), 0), 7);
});

Deno.test("metrics are served under /metrics, and the shutdown does not wait for clients", async () => {
  const port = freePort();
  const place = parseMetrics(String(port));
  const url = `http://127.0.0.1:${port}`;
  {
    await using _served = serveMetrics(
      place,
      () => scanFamilies(newState("s", 0)),
      unexpected,
    );
    const page = await fetch(`${url}/metrics`);
    assertEquals(page.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    check(await page.text());
    for (const [path, method, status] of [["/", "GET", 404], ["/metrics", "POST", 405]] as const) {
      const other = await fetch(url + path, { method });
      await other.body?.cancel();
      assertEquals(other.status, status);
    }
    assertThrows(
      () => serveMetrics(place, () => [], unexpected),
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

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

function unexpected(reason: string): never {
  throw new Error(reason);
}
