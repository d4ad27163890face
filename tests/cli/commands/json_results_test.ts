/** Covers src/cli/term/json_results.ts and src/cli/commands/scan/plan_json.ts. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { main } from "../../../src/cli/mod.ts";
import { JSON_RESULTS } from "../../../src/cli/term/json_results.ts";
import { withMessages, withResults } from "../failing_streams.ts";
import { PATIENCE_MS, start } from "../program.ts";
import { record } from "../../store/records.ts";

const SCAN = ["scan", "127.113.0.0/30", "10.37.0.0/31", "--exclude", "127.113.0.3", "--seed", "5"];

/** The JSON objects that a command prints. */
async function results(args: readonly string[], exit = 0): Promise<Record<string, unknown>[]> {
  const [code, text] = await withResults(() => main(args));
  assertEquals([code, text.at(-1)], [exit, "\n"], args.join(" "));
  return text.trimEnd().split("\n").map((line) => JSON.parse(line));
}

function assertKeys(name: keyof typeof JSON_RESULTS, object: Record<string, unknown>): void {
  assertEquals(Object.keys(object), Object.keys(JSON_RESULTS[name]), name);
}

Deno.test("a dry run is one object with the numbers of its text", async () => {
  const limits = ["--rate", "3", "--retries", "1", "--shard", "1/1", "--engine", "portable"];
  const args = [...SCAN, ...limits, "-o", "a.csv", "--dry-run"];
  const [plan, ...more] = await results([...args, "--json"]);
  assertEquals(more, []);
  assertKeys("scan --dry-run", plan);
  const { targets, excluded, ports, passes, ...others } = plan;
  assertEquals(targets, { all: 5, public: 0, private: 2, loopback: 3 });
  assertEquals(excluded, { never_probed: 0, private: 0, by_option: 1, opted_out: 0 });
  assertEquals(ports, [
    { protocol: "raknet", interviews: false, ports: "19132" },
    { protocol: "nethernet", interviews: false, ports: "19132" },
    { protocol: "slp", interviews: false, ports: "25565" },
    { protocol: "query", interviews: false, ports: "25565" },
  ]);
  assertEquals(
    passes,
    [["udp", "raknet"], ["udp", "raknet"], ["udp", "query"], ["udp", "query"]]
      .concat([["tcp", "nethernet"], ["tcp", "nethernet"], ["tcp", "slp"], ["tcp", "slp"]])
      .map(([transport, protocol]) => ({ transport, protocol, probes: 5 })),
  );
  assertEquals([others.probes, others.tcp_probes, others.seed], [20, 20, 5]);
  assertEquals([others.permission, others.limited_by], [null, "rate"]);
  assertEquals((others.limits as { rate: number }).rate, 3);
  assertEquals(others.outputs, [{ path: "a.csv", format: "csv" }]);
  const [, text] = await withResults(() => main(args));
  const seconds = others.duration_s as number;
  assertStringIncludes(text, `at least 00:00:${String(Math.ceil(seconds)).padStart(2, "0")}`);
});

Deno.test("a dry run counts one SYN packet for each probe over TCP, and those that are pending", async () => {
  const plan = async (...more: string[]) => {
    const given = ["scan", "127.0.0.0/26", "--protocol", "slp", "-p", "T:1-16", "--dry-run"];
    const args = [...given, ...more];
    const [{ duration_s, tcp_probes }] = await results([...args, "--json"]);
    const [, text] = await withResults(() => main(args));
    return [tcp_probes, duration_s, /^TCP probes +(.*)$/m.exec(text)![1]];
  };
  const line = (probes: string, pending: string) =>
    `at most ${probes} SYN packets, at most ${pending} pending at once; each open port gets a ` +
    "status request";
  // 1024 probes a pass, and a second between the two passes; loopback has no rate limit
  assertEquals(await plan(), [2048, 1, line("2,048", "1,024")]);
  assertEquals(await plan("--retries", "0"), [1024, 0, line("1,024", "1,024")]);
  const slow = ["--rate", "100", "--timeout"];
  assertEquals(await plan(...slow, "3s"), [2048, 21.48, line("2,048", "108")]); // 0.9 s each at most
  assertEquals(await plan(...slow, "500ms"), [2048, 21.48, line("2,048", "60")]);
});

Deno.test("a list of targets is one object for each, in the order of the lines", async () => {
  const args = [...SCAN, "-sL"];
  const targets = await results([...args, "--json"]);
  targets.forEach((target) => assertKeys("scan --list-targets", target));
  const [, text] = await withResults(() => main(args));
  const lines = targets.map(({ host, port, protocol }) => `${host}:${port} ${protocol}\n`);
  assertEquals(lines.join(""), text);
});

Deno.test("--json of a scan that probes is refused, and the error names the right option", async () => {
  const [code, text] = await withMessages(() => main(["scan", "127.0.0.1", "--json"]));
  assertEquals(code, 2);
  assertStringIncludes(text, "rows are JSON with --format ndjson");
});

Deno.test("import and prune print one object per result, with --quiet too", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const [rows, list, database] = ["rows.ndjson", "list.txt", "a.db"].map((name) =>
      `${folder}/${name}`
    );
    await Deno.writeTextFile(rows, `torn {\n${JSON.stringify(record(1, {}))}\n`);
    await Deno.writeTextFile(list, "127.0.0.1:1\n127.0.0.1:2\n");
    const imported = await results(["import", database, rows, list, "--json", "-q"]);
    imported.forEach((one) => assertKeys("import", one));
    assertEquals(imported.map((one) => Object.values(one)), [
      [rows, 1, 1, 1, 1, 0, [], 0],
      [list, 2, 1, 0, null, 0, [], 0],
    ]);
    const ages = ["--observations", "1d", "--players", "0"];
    const pruned = await results(["prune", database, ...ages, "--json"]);
    const none = { events: null, replies: null };
    assertEquals(pruned, [{ database, observations: 0, ...none, players: 0, icons: 0 }]);
    const failed = () => main(["import", database, `${folder}/none.csv`, "--json"]);
    const [[code, out], text] = await withMessages(() => withResults(failed));
    assertEquals([code, out], [2, ""]);
    assertStringIncludes(text, "Cannot read");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("Ctrl-C ends a fleet that has not yet reported that it is ready", async () => {
  const { addSignalListener, removeSignalListener } = Deno;
  const { write } = Deno.stdout;
  const handlers: (() => void)[] = [];
  Deno.addSignalListener = (_, handler) => void handlers.push(handler);
  Deno.removeSignalListener = () => {};
  Deno.stdout.write = (bytes) => {
    handlers.splice(0)[0]?.(); // while the fleet prints its first object
    return Promise.resolve(bytes.length);
  };
  const late = Promise.withResolvers<"it goes on">();
  const timer = setTimeout(() => late.resolve("it goes on"), PATIENCE_MS);
  try {
    const fleet = main(["fleet", "--servers", "1", "--range", "127.113.2.0/30", "--json"]);
    assertEquals(await Promise.race([fleet, late.promise]), 130);
  } finally {
    clearTimeout(timer);
    Object.assign(Deno, { addSignalListener, removeSignalListener });
    Deno.stdout.write = write;
  }
});

Deno.test("a fleet prints an object when it is ready, and one at its end; a check one per file", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const [manifest, rows] = [`${folder}/truth.ndjson`, `${folder}/rows.ndjson`];
    const fleet = ["fleet", "--servers", "2", "--hostile", "1", "--range", "127.113.1.0/28"];
    const child = start([...fleet, "--no-tcp", "--manifest", manifest, "--json"]);
    const stderr = new Response(child.stderr).text();
    let text = "";
    for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
      if (text === "") child.kill("SIGINT"); // the first object has been printed
      text += part;
    }
    assertEquals([(await child.status).code, await stderr], [130, ""]);
    const [ready, ended] = text.trimEnd().split("\n").map((line) => JSON.parse(line));
    assertKeys("fleet", ready);
    assertKeys("fleet (at its end)", ended);
    const shown = { event: "ready", hosts: 3, servers: 2, range: "127.113.1.0/28", seed: 1 };
    assertEquals(ready, { ...shown, manifest });
    assertEquals([ended.event, ended.datagrams_received], ["ended", 0]);
    assert((await Deno.stat(manifest)).isFile);
    await Deno.writeTextFile(rows, "");
    const check = ["fleet", "--check", rows, "--manifest", manifest, "--json"];
    const [verdict, ...more] = await results(check, 1);
    assertKeys("fleet --check", verdict);
    const { servers, faults, ...others } = verdict;
    assertEquals([others, more], [{ file: rows, found: 0, right: 0, in_part: 0 }, []]);
    assertEquals((faults as string[]).length, servers);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
