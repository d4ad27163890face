/**
 * Debian's Prometheus scrapes a watch and probes through it; promtool checks pages and rules. Both are
 * looked for in PATH.
 */
import { assert, assertEquals } from "@std/assert";
import { scanFamilies } from "../../src/app/metrics/scan_metrics.ts";
import { prometheusText } from "../../src/app/metrics/prometheus_text.ts";
import { parseManifest } from "../../src/fleet/manifest.ts";
import { newState } from "../../src/scan/setup/scan_state.ts";
import grafana from "../../data/grafana.json" with { type: "json" };
import { debianTest, requireProgram } from "./debian.ts";
import { blocksweep, Peer } from "./processes.ts";
import { freePort } from "../fakes/free_port.ts";

const ALERTS = new URL("../../data/alerts.yml", import.meta.url).pathname;
const RANGE = "127.79.0.0/24";

/** The path of a program; its usual one if PATH has none, so that the failure names it. */
async function programOf(name: string): Promise<string> {
  for (const folder of (Deno.env.get("PATH") ?? "").split(":")) {
    const path = `${folder}/${name}`;
    if (await Deno.stat(path).then(({ isFile }) => isFile, () => false)) return path;
  }
  await requireProgram(`/usr/bin/${name}`);
  return `/usr/bin/${name}`;
}

/** Runs promtool; returns what it printed, and fails unless it succeeded. */
async function promtool(args: readonly string[], stdin = ""): Promise<string> {
  const command = new Deno.Command(await programOf("promtool"), {
    ...{ args: [...args], stdin: "piped", stdout: "piped", stderr: "piped" },
  });
  const child = command.spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(stdin));
  await writer.close();
  const { success, stdout, stderr } = await child.output();
  const printed = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join("");
  assert(success, printed);
  return printed;
}

/** The configuration of Prometheus: the watch, and servers that it probes. */
function configuration(place: string, servers: readonly string[]) {
  const relabel = [
    { source_labels: ["__address__"], target_label: "__param_target" },
    { source_labels: ["__param_target"], target_label: "instance" },
    { target_label: "__address__", replacement: place },
  ];
  return JSON.stringify({ // YAML contains JSON
    global: { scrape_interval: "1s", scrape_timeout: "1s", evaluation_interval: "1s" },
    rule_files: [ALERTS],
    scrape_configs: [
      { job_name: "blocksweep", static_configs: [{ targets: [place] }] },
      {
        ...{ job_name: "servers", metrics_path: "/probe", relabel_configs: relabel },
        ...{ scrape_interval: "6s", scrape_timeout: "6s", static_configs: [{ targets: servers }] },
      },
    ],
  });
}

/** The samples of a query: instance or server, and value. */
type Reply = readonly {
  readonly metric: Record<string, string>;
  readonly value: [number, string];
}[];

debianTest(
  "Prometheus scrapes /metrics and /probe, and evaluates every rule and panel",
  async () => {
    const folder = await Deno.makeTempDir();
    try {
      const manifest = `${folder}/manifest.ndjson`;
      const fleetOptions = ["--servers", "12", "--range", RANGE, "--software", "bds"];
      await using _fleet = await Peer.start(
        blocksweep("fleet", ...fleetOptions, "--manifest", manifest),
        /simulated hosts/,
      );
      const hosts = parseManifest(await Deno.readTextFile(manifest));
      const all = hosts.map(({ host, port }) => `${host}:${port}`);
      const [watched, probed] = [all.slice(0, 8), all.slice(4)];
      const place = `127.0.0.1:${freePort()}`;
      const served = ["--metrics", place, "--metrics-info", "--probe", "--probe-allow", RANGE];
      await using _watch = await Peer.start(
        blocksweep("watch", ...watched, "--interval", "5s", ...served),
        /watching 8 endpoints/,
      );
      await Deno.writeTextFile(`${folder}/prometheus.yml`, configuration(place, probed));
      await promtool(["check", "config", `${folder}/prometheus.yml`]);
      const address = `127.0.0.1:${freePort()}`;
      const args = [
        `--config.file=${folder}/prometheus.yml`,
        `--storage.tsdb.path=${folder}/data`,
        `--web.listen-address=${address}`,
      ];
      await using _prometheus = await Peer.start(
        { command: await programOf("prometheus"), args },
        /Server is ready to receive web requests/,
      );
      const api = async (path: string) => {
        const response = await fetch(`http://${address}/api/v1/${path}`);
        const { status, data, error } = await response.json();
        assertEquals(status, "success", `${path}: ${error}`);
        return data;
      };
      const query = async (expression: string): Promise<Reply> =>
        (await api(`query?query=${encodeURIComponent(expression)}`)).result;
      const until = async (expression: string, count: number) => {
        for (;;) {
          const reply = await query(expression);
          if (reply.length >= count) return reply;
          await new Promise((resolve) => setTimeout(resolve, 50)); // Prometheus does not announce a scrape
        }
      };
      const online = await until("blocksweep_up == 1", 8);
      assertEquals(online.map(({ metric }) => metric.server).toSorted(), watched.toSorted());
      const replied = await until("probe_success == 1", 8);
      assertEquals(replied.map(({ metric }) => metric.instance).toSorted(), probed.toSorted());
      // Watched and probed servers report equal slots.
      const slots = new Map(
        (await query("blocksweep_players_max")).map((one) => [one.metric.server, one]),
      );
      for (const { metric, value } of await query("blocksweep_probe_players_max")) {
        const same = slots.get(metric.instance);
        if (same !== undefined) assertEquals(same.value[1], value[1], metric.instance);
      }
      assertEquals((await query("blocksweep_server_info")).length, 8);
      assertEquals((await query("up == 0")).length, 0);
      const { activeTargets }: { activeTargets: { lastError: string }[] } = await api("targets");
      assert(
        activeTargets.every(({ lastError }) => lastError === ""),
        JSON.stringify(activeTargets),
      );
      for (const { targets = [] } of grafana.panels as { targets?: { expr: string }[] }[]) {
        for (const { expr } of targets) await query(expr.replace(/\$(job|server)/g, ".*"));
      }
      await until("count(ALERTS) or vector(0)", 1);
      const { groups }: { groups: { rules: { health: string }[] }[] } = await api("rules");
      const rules = groups.flatMap((group) => group.rules);
      assertEquals(rules.filter(({ health }) => health === "err"), []);
      for (const path of ["metrics", `probe?target=${probed[7]}`]) {
        const page = await (await fetch(`http://${place}/${path}`)).text();
        assertEquals(await promtool(["check", "metrics"], page), "", path);
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
);

debianTest(
  "promtool finds no fault in the rules of alerts, and in the metrics of a scan",
  async () => {
    assert((await promtool(["check", "rules", ALERTS])).includes("SUCCESS"));
    const page = prometheusText(scanFamilies(newState("s", 0)));
    assertEquals(await promtool(["check", "metrics"], page), "");
  },
);

debianTest(
  "a webhook that delivers nothing raises an alert, and a busy one raises none",
  async () => {
    const path = await Deno.makeTempFile({ suffix: ".yml" });
    const labels = '{instance="i", job="j"}';
    const series = (waiting: string, delivered: string) => [
      { series: `blocksweep_webhook_backlog${labels}`, values: waiting },
      { series: `blocksweep_webhook_events_delivered_total${labels}`, values: delivered },
    ];
    const alert = {
      exp_labels: { severity: "critical", instance: "i", job: "j" },
      exp_annotations: { summary: "The webhook accepts no events: 2 wait." },
    };
    const test = (input_series: unknown, exp_alerts: unknown) => ({
      ...{ interval: "1m", input_series },
      alert_rule_test: [{ eval_time: "30m", alertname: "BlocksweepWebhookFails", exp_alerts }],
    });
    const tests = [
      test(series("0+0x9 2+0x30", "7+0x40"), [alert]),
      test(series("2+0x40", "0+5x40"), []),
      test(series("0+0x40", "7+0x40"), []),
    ];
    try {
      await Deno.writeTextFile(path, JSON.stringify({ rule_files: [ALERTS], tests }));
      await promtool(["test", "rules", path]);
    } finally {
      await Deno.remove(path);
    }
  },
);
