/** Covers data/grafana.json and data/alerts.yml: they query metrics that the program exports. */
import { assert, assertEquals } from "@std/assert";
import { buildInfo } from "../../../src/app/metrics/build_info.ts";
import { probeFamilies } from "../../../src/app/metrics/probe/probe_page.ts";
import type { Family } from "../../../src/app/metrics/prometheus_text.ts";
import { scanFamilies } from "../../../src/app/metrics/scan_metrics.ts";
import { ServerInfoSeries } from "../../../src/app/metrics/server_info.ts";
import { WatchMetrics } from "../../../src/app/metrics/watch_metrics.ts";
import { emptyRecord } from "../../../src/core/record.ts";
import { newState } from "../../../src/scan/setup/scan_state.ts";
import { newWatchCounts } from "../../../src/watch/watch.ts";
import { WatchedServer } from "../../../src/watch/watched_server.ts";
import grafana from "../../../data/grafana.json" with { type: "json" };
import alerts from "../../../data/alerts.yml" with { type: "text" };
import { PROTOCOLS } from "../../../src/protocols/list.ts";

/** Every series that the program may export: its name, and the names of its labels. */
function exported(): Map<string, Set<string>> {
  const rules = {
    intervalMs: 5000,
    downAfter: 2,
    scanId: "w",
    newEventId: () => "event",
    allProtocols: PROTOCOLS,
  };
  const server = new WatchedServer({ address: 0x7f000001, port: 1 }, null, rules);
  const row = emptyRecord(server.endpoint, 1);
  server.addReply(row, 1);
  const info = new ServerInfoSeries();
  const watch = new WatchMetrics({
    ...{ servers: [server], counts: newWatchCounts(), journals: [], info },
    clock: { now: () => 0 },
  });
  const status = { players: 1, slots: 2, latencyMs: 3, info: info.labelsOf({}, row, 0) };
  const families: Family[] = [
    buildInfo(),
    ...watch.families(),
    ...scanFamilies(newState("s", 0)),
    ...probeFamilies({ status, tookMs: 1, lookupMs: 0 }),
  ];
  const series = new Map<string, Set<string>>();
  for (const { name, samples } of families) {
    for (const { suffix = "", labels = {} } of samples) {
      const known = series.get(name + suffix) ?? new Set(["job", "instance"]);
      series.set(name + suffix, new Set([...known, ...Object.keys(labels)]));
    }
  }
  return series;
}

/** The expressions of the dashboard. */
function dashboardExpressions(): string[] {
  const expressions = grafana.panels.flatMap(({ targets = [] }: { targets?: { expr: string }[] }) =>
    targets.map(({ expr }) => expr)
  );
  const variables = grafana.templating.list.flatMap(({ query }) =>
    typeof query === "object" ? [query.query] : []
  );
  return [...expressions, ...variables];
}

/** Checks the metrics and the labels of an expression. */
function check(expression: string, series: Map<string, Set<string>>): string[] {
  const used = [...expression.matchAll(/\b((?:blocksweep|probe)_[a-z_]+)(?:\{([^}]*)\})?/g)];
  assert(used.length > 0, `it queries no metric: ${expression}`);
  return used.map(([, name, matchers = ""]) => {
    const labels = series.get(name);
    assert(labels !== undefined, `there is no metric ${name}: ${expression}`);
    for (const [, label] of matchers.matchAll(/([a-z_]+)\s*=~?/g)) {
      assert(labels.has(label), `${name} has no label ${label}: ${expression}`);
    }
    return name;
  });
}

Deno.test("the dashboard and the alerts query metrics and labels that are exported", () => {
  const series = exported();
  const rules = [...alerts.matchAll(/^ +expr: (.+)$/gm)].map(([, expression]) => expression);
  assertEquals(rules.length, alerts.match(/- alert:/g)!.length);
  const used = new Set([...dashboardExpressions(), ...rules].flatMap((one) => check(one, series)));
  for (const name of ["up", "players", "players_max", "database_backlog", "webhook_backlog"]) {
    assert(used.has(`blocksweep_${name}`), name);
  }
});

Deno.test("the panels of the dashboard have ids of their own and do not overlap", () => {
  const ids = grafana.panels.map(({ id }) => id);
  assertEquals(new Set(ids).size, ids.length);
  const cells = grafana.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, i) => `${x + i % w} ${y + Math.floor(i / w)}`)
  );
  assertEquals(new Set(cells).size, cells.length);
});
