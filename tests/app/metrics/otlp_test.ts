/** Covers src/app/metrics/otlp.ts and src/app/metrics/otlp_meter.ts, with a collector of OTLP. */
import { assert, assertEquals } from "@std/assert";
import { drawFleet } from "../../../src/fleet/simulate/draw_fleet.ts";
import { openFleet } from "../../../src/fleet/simulate/open_fleet.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { exportFamilies } from "../../../src/app/metrics/otlp.ts";
import { otlpMeter } from "../../../src/app/metrics/otlp_meter.ts";
import { metricFamily } from "../../../src/app/metrics/scan_metrics.ts";
import { finish, PrintedText, start } from "../../cli/program.ts";

const RANGE = { start: 0x7f750000, end: 0x7f750100 };

/** A value in OTLP's JSON. */
interface Point {
  readonly asDouble?: number;
  readonly asInt?: string;
  readonly count?: string;
  readonly explicitBounds?: readonly number[];
  readonly attributes: readonly { readonly key: string; readonly value: { stringValue: string } }[];
}

/** A metric in OTLP's JSON. */
interface Metric {
  readonly name: string;
  readonly unit: string;
  readonly sum?: { readonly dataPoints: readonly Point[]; readonly isMonotonic: boolean };
  readonly gauge?: { readonly dataPoints: readonly Point[] };
  readonly histogram?: { readonly dataPoints: readonly Point[] };
}

/** An export in OTLP's JSON. */
interface Export {
  readonly resourceMetrics: readonly {
    readonly scopeMetrics: readonly {
      readonly scope: { readonly name: string };
      readonly metrics: readonly Metric[];
    }[];
  }[];
}

/** Our metrics in an export, by name. */
function metricsOf(body: string): Map<string, Metric> {
  const { resourceMetrics } = JSON.parse(body) as Export;
  const ours = resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics)
    .filter(({ scope }) => scope.name === "blocksweep");
  return new Map(ours.flatMap(({ metrics }) => metrics).map((one) => [one.name, one]));
}

/** A collector that receives exports of metrics until one is enough. */
function collector(isEnough: (body: Uint8Array<ArrayBuffer>) => boolean) {
  const { promise: enough, resolve } = Promise.withResolvers<Uint8Array<ArrayBuffer>>();
  const types = new Set<string>();
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  const server = Deno.serve(options, async (request) => {
    const body = await request.bytes();
    types.add(request.headers.get("content-type")!);
    if (new URL(request.url).pathname === "/v1/metrics" && isEnough(body)) resolve(body);
    return new Response("{}", { headers: { "content-type": "application/json" } });
  });
  const env = {
    OTEL_DENO: "true",
    OTEL_DENO_CONSOLE: "ignore",
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${server.addr.port}`,
    OTEL_METRIC_EXPORT_INTERVAL: "100",
  };
  return { enough, types, env, [Symbol.asyncDispose]: () => server.shutdown() };
}

/** Ends a program that may have ended. Deno sometimes does not exit by itself with OTEL_DENO=true. */
function kill(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch (error) {
    if (!(error instanceof TypeError)) throw error; // a TypeError: it has ended
  }
}

const valueOf = ({ asDouble, asInt }: Point) => asDouble ?? Number(asInt);
const total = (points: readonly Point[]) => points.reduce((sum, point) => sum + valueOf(point), 0);

Deno.test("a watch exports its metrics over OTLP, without --metrics", async () => {
  const hosts = drawFleet({ servers: 20, range: RANGE, seed: 5, software: ["bds"] });
  await using _fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
  await using receiver = collector((body) => {
    const metrics = metricsOf(new TextDecoder().decode(body));
    return total(metrics.get("blocksweep_polls")?.sum?.dataPoints ?? []) >= 20;
  });
  const servers = hosts.map(({ entry: { host, port } }) => `${host}:${port}`);
  const child = start(["watch", ...servers], {
    env: { ...receiver.env, OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" },
  });
  const printed = new PrintedText(child);
  const body = await Promise.race([receiver.enough, child.status]);
  if (!(body instanceof Uint8Array)) throw new Error(await printed.rest());
  const metrics = metricsOf(new TextDecoder().decode(body));
  kill(child);
  await child.stdout.cancel();
  assert(!/error/i.test(await printed.rest()), printed.text);
  await child.status;
  assert([...receiver.types].every((type) => type.startsWith("application/json")));
  const { sum } = metrics.get("blocksweep_polls")!;
  assert(sum!.isMonotonic && total(sum!.dataPoints) >= 20);
  const delay = metrics.get("blocksweep_poll_delay_seconds")!;
  assertEquals([delay.unit, delay.histogram!.dataPoints[0].explicitBounds!.length], ["s", 12]);
  assert(Number(delay.histogram!.dataPoints[0].count) >= 20);
  const players = metrics.get("blocksweep_players")!.gauge!.dataPoints;
  assertEquals(
    players.map(({ attributes: [{ key, value }] }) => `${key} ${value.stringValue}`).toSorted(),
    servers.map((server) => `server ${server}`).toSorted(),
  );
  const [{ attributes }] = metrics.get("blocksweep_build_info")!.gauge!.dataPoints;
  assertEquals(attributes.map(({ key }) => key).toSorted(), ["deno", "version"]);
});

Deno.test("a scan exports its metrics over OTLP in protobuf", async () => {
  const hosts = drawFleet({ servers: 20, range: RANGE, seed: 5, software: ["bds"] });
  await using _fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
  const text = (body: Uint8Array) => new TextDecoder("latin1").decode(body);
  await using receiver = collector((body) => text(body).includes("blocksweep_rows_written"));
  const child = start(["scan", "127.117.0.0/24", "-p", "19132", "-q", "-o", "-"], {
    env: { ...receiver.env, OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf" },
  });
  const body = await receiver.enough;
  kill(child);
  const { stderr } = await finish(child);
  assertEquals(stderr, "");
  assert(text(body).includes("blocksweep_probes_sent"));
  assertEquals([...receiver.types], ["application/x-protobuf"]);
});

Deno.test("a metric has at most 2,000 series over OTLP, and unknown values are left out", () => {
  const observed: [string, number][] = [];
  let callback = (_: { observe: (...one: never[]) => void }) => {};
  const meter = {
    createObservableCounter: (name: string) => ({ name }),
    createObservableGauge: (name: string) => ({ name }),
    createHistogram: () => ({ record: () => {} }),
    addBatchObservableCallback: (one: unknown) => void (callback = one as typeof callback),
    removeBatchObservableCallback: () => void (callback = () => {}),
  };
  const samples = Array.from({ length: 3000 }, (_, i) => ({
    ...{ value: i === 1 ? NaN : i, labels: { server: `${i}` } },
  }));
  const collect = () => [
    metricFamily("players", "gauge", "Players.", samples),
    metricFamily("polls", "counter", "Polls.", [{ value: 5 }]),
    metricFamily("delay", "histogram", "Delay.", [{ value: 5 }]),
  ];
  const observe = ({ name }: { name: string }, value: number) => observed.push([name, value]);
  {
    using _exported = exportFamilies(meter, collect);
    callback({ observe: observe as never });
    const names = observed.map(([name]) => name);
    assertEquals(names.filter((name) => name === "blocksweep_players").length, 1999);
    assertEquals([...new Set(names)], [
      "blocksweep_build_info",
      "blocksweep_players",
      "blocksweep_polls",
    ]);
  }
  const before = observed.length;
  callback({ observe: observe as never });
  assertEquals(observed.length, before);
});

Deno.test("without OTEL_DENO=true nothing is exported", () => {
  assertEquals(otlpMeter(), undefined);
});
