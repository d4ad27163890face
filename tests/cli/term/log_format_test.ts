/** Covers src/cli/term/log_format.ts. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { main } from "../../../src/cli/mod.ts";
import { formatMessages, reportError, reportRaw } from "../../../src/cli/term/console.ts";
import { messageJson, wantsJson } from "../../../src/cli/term/log_format.ts";
import { withMessages } from "../failing_streams.ts";
import { PrintedText, run, start } from "../program.ts";
import { runHere } from "../run_here.ts";

/** The objects of lines. */
function objects(lines: string): Record<string, unknown>[] {
  assert(lines.endsWith("\n"), lines);
  return lines.trimEnd().split("\n").map((line) => JSON.parse(line));
}

Deno.test("a message as JSON has its time in UTC, its level and its figures", () => {
  const cases = [
    ["watching 3 endpoints\n", "info", "watching 3 endpoints"],
    ["blocksweep: NATS at a:4222 replies again\n", "warning", "NATS at a:4222 replies again"],
    ['blocksweep: Cannot read "x": no\n', "error", 'Cannot read "x": no'],
  ];
  for (const [text, level, message] of cases) {
    assertEquals(JSON.parse(messageJson(text, 86_400_000, { fields: { polls: 2 } })), {
      ...{ time: "1970-01-02T00:00:00.000Z", level, message, polls: 2 },
    });
  }
  assertEquals(JSON.parse(messageJson("x", 0, { level: "error" })).level, "error");
});

Deno.test("text of strangers in a message as JSON stays one line without control characters", () => {
  const strange = 'a\x1b[2J\n{"level":"error"}\r\u0085\u009b\u202e\u2028\x07\x7f';
  const line = messageJson(strange, 0);
  assertMatch(line, /^[ -~]+$/);
  assertEquals(JSON.parse(line).message, strange);
});

Deno.test("the format of messages is read from the arguments before they are checked", () => {
  const cases = [
    [true, "scan", "--log-format", "json"],
    [true, "scan", "--log-format=json", "--nonsense"],
    [false, "scan", "--log-format", "xml"],
    [false, "scan", "json"],
    [false, "scan", "--", "--log-format=json"],
  ] as const;
  for (const [isJson, ...args] of cases) assertEquals(wantsJson(args), isJson, args.join(" "));
});

Deno.test("refusals are JSON with --log-format json, and text without it in the next call", async () => {
  const refused = ["scan", "127.0.0.1", "--rate", "a\x1b[2Jb", "--log-format"];
  const { code, stderr, stdout } = await runHere([...refused, "json"]);
  assertEquals([code, stdout], [2, ""]);
  const [{ level, message }, ...others] = objects(stderr);
  assertEquals([level, others], ["error", []]);
  assertMatch(message as string, /^Cannot use --rate "a␛\[2Jb"/);
  const text = await runHere([...refused, "text"]);
  assertMatch(text.stderr, /^blocksweep: Cannot use --rate/);
  const wrong = await runHere(["scan", "127.0.0.1", "--log-format", "xml"]);
  assertMatch(wrong.stderr, /^blocksweep: Cannot use --log-format "xml": expected text, json/);
});

Deno.test("a defect of the program is one JSON object with its stack", async () => {
  const args = ["scan", "127.0.0.1", "--dry-run", "--log-format", "json"];
  const [code, stderr] = await withMessages(() => main(args, null as never));
  const [{ level, message }, ...others] = objects(stderr);
  assertEquals([code, level, others], [1, "error", []]);
  assertMatch(message as string, /^TypeError: .*\n +at /);
});

Deno.test("empty lines are no messages as JSON", async () => {
  const [, stderr] = await withMessages(() => {
    formatMessages((text, details) => messageJson(text, 0, details));
    reportRaw("\n");
    reportError("Cannot x");
    formatMessages(undefined);
    return Promise.resolve();
  });
  assertEquals(objects(stderr).map(({ message }) => message), ["Cannot x"]);
});

Deno.test("every message of a watch is JSON, and events on standard output stay as they are", async () => {
  const watch = start(["watch", "127.254.9.9:19132", "--json", "--log-format", "json"]);
  const [errors, results] = [new PrintedText(watch), new PrintedText(watch, watch.stdout)];
  await errors.until("watching 1 endpoint");
  watch.kill("SIGINT");
  const [stderr, stdout] = await Promise.all([errors.rest(), results.rest(), watch.status]);
  const messages = objects(stderr);
  assertEquals(messages.map(({ level }) => level), ["info", "info"]);
  assertEquals([messages[1].endpoints, messages[1].online], [1, 0]);
  for (const line of stdout.split("\n").slice(0, -1)) assertEquals(JSON.parse(line).schema, 1);
});

Deno.test("a scan prints its progress and its counts as figures, and its plan as messages", async () => {
  const options = [
    "--log-format",
    "json",
    "--stats-every",
    "1ms",
    "--cooldown",
    "1s",
    "--retries",
    "0",
    "-v",
  ];
  const { code, stderr } = await run(["scan", "127.254.9.8/31", "-p", "19132", ...options]);
  const messages = objects(stderr);
  assertEquals([code, new Set(messages.map(({ level }) => level))], [0, new Set(["info"])]);
  const counted = messages.filter(({ found }) => found === 0);
  assert(counted.some(({ share }) => typeof share === "number"), stderr);
  assertEquals(counted.at(-1)!.written, 0);
});
