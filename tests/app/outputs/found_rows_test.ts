/** Covers src/app/outputs/found_rows.ts with the command query. */
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { FoundRows, planFoundRows } from "../../../src/app/outputs/found_rows.ts";
import { InputError } from "../../../src/core/errors.ts";
import { readCommandLine } from "../../cli/command_line.ts";
import { WriteError } from "../../../src/sinks/sink.ts";
import { listenSlp, slpServer } from "../../fakes/slp.ts";
import { run } from "../../cli/program.ts";
import { record } from "../../store/records.ts";
import { inFolder } from "../resume/stopped_programs.ts";

const WRITING = ["--allow-net=127.0.0.0/8,0.0.0.0", "--allow-read", "--allow-write"];

Deno.test("query writes its rows to files in the formats of export, and to standard output with --json", () =>
  inFolder(async (folder) => {
    await using listener = listenSlp(slpServer("vanilla"), "127.0.0.1");
    const target = `127.0.0.1:${listener.port}`;
    const query = (...more: string[]) =>
      run(["query", target, "--protocol", "slp", ...more], { permissions: WRITING, cwd: folder });
    const files = ["-o", "a.csv", "-o", "a.json", "-oL", "list", "-f", "host,port"];
    const { code, stdout, stderr } = await query(...files);
    assertEquals([code, stdout, stderr], [0, "", ""]);
    const read = (name: string) => Deno.readTextFile(`${folder}/${name}`);
    assertEquals(await read("a.csv"), `host,port\r\n127.0.0.1,${listener.port}\r\n`);
    const [row] = JSON.parse(await read("a.json"));
    assertEquals([row.host, row.port], ["127.0.0.1", listener.port]);
    assertEquals(await read("list"), `${target}\n`);
    const more = await query("-o", "a.csv", "-f", "host,port", "--append", "--json");
    assertEquals((await read("a.csv")).split("\n").length, 4);
    assertEquals(JSON.parse(more.stdout).port, listener.port);
    assertEquals((await query("--format", "hostport")).stdout, `${target}\n`);
    assertStringIncludes((await query()).stdout, `${target}  slp`);
  }));

Deno.test("outputs that cannot be written together are refused, and lan has the same ones as query", () => {
  for (const command of ["query", "lan"] as const) {
    const plan = (...args: string[]) => {
      const { options } = readCommandLine(command, args);
      const takesDatabases = command === "lan";
      return planFoundRows({ ...options, takesDatabases }, undefined).map(({ path, format }) =>
        `${path} ${format.name}`
      );
    };
    assertEquals(plan(), []);
    assertEquals(plan("--json"), ["- ndjson"]);
    assertEquals(plan("-o", "a.gnmap", "--json"), ["a.gnmap grep", "- ndjson"]);
    assertEquals(plan("-o", "-"), ["- ndjson"]);
    if (command === "lan") assertEquals(plan("-o", "x.db", "--json"), ["- ndjson"]);
    else {
      const message = 'Cannot write to "x.db", which is a database: write to .ndjson';
      assertThrows(() => plan("-o", "x.db"), InputError, message);
    }
    for (
      const [args, message] of [
        [["-o", "-", "--json"], "Cannot write two outputs to standard output"],
        [["--json", "--format", "csv"], "it means --format ndjson"],
        [["-o", "a.csv", "-oL", "./a.csv"], "Cannot write two outputs"],
      ] as const
    ) assertThrows(() => plan(...args), InputError, message);
  }
});

Deno.test("a row that cannot be written ends the command with its error", async () => {
  const { options } = readCommandLine("query", ["--format", "hostport"]);
  const plans = planFoundRows(options, undefined);
  const writeRows = () => Promise.reject(new Error("no space"));
  const rows = await FoundRows.open(plans, false, { writeRows, report: () => {} });
  await rows.add(record(1));
  assertEquals(
    (rows.signal.reason as WriteError).message,
    "Cannot write to standard output: no space",
  );
  let thrown: unknown;
  await rows.close().catch((error) => thrown = error);
  assertEquals(thrown instanceof WriteError, true);
});
