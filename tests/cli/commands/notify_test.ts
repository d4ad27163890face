/** Covers the messages of src/app/service_state.ts to a real socket, from the commands that run as services. */
import { assertEquals, assertMatch } from "@std/assert";
import { drawFleet } from "../../../src/fleet/simulate/draw_fleet.ts";
import { openFleet } from "../../../src/fleet/simulate/open_fleet.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { inFolder } from "../../app/resume/stopped_programs.ts";
import { PrintedText, run, start } from "../program.ts";

/** Permissions of the units in data/systemd. Deno allows sockets of files only with all of --allow-net. */
const permissions = (...writable: string[]) => [
  ...["--allow-net", "--allow-read", `--allow-write=${writable}`],
  "--allow-env=NOTIFY_SOCKET,WATCHDOG_USEC",
];

/** Starts a program that prints the messages to a socket. */
function listen(socket: string) {
  const main = new URL("../notify_listener.ts", import.meta.url).pathname;
  const permissions = ["--unstable-net", "--allow-net", "--allow-read", "--allow-write"];
  return start([socket], { main, permissions });
}

/** The messages of a command from its start to its end by SIGTERM. */
async function messages(socket: string, args: readonly string[], writable: string) {
  const listener = listen(socket);
  const received = new PrintedText(listener, listener.stdout);
  await received.until("listening");
  const child = start(args, {
    permissions: permissions(socket, writable),
    env: { NOTIFY_SOCKET: socket, WATCHDOG_USEC: "2000" },
  });
  const [errors, results] = [new PrintedText(child), new PrintedText(child, child.stdout)];
  void child.status.then(({ code }) => code !== 130 && listener.kill("SIGKILL"));
  await received.until("WATCHDOG=1");
  child.kill("SIGTERM");
  const [stderr] = await Promise.all([errors.rest(), results.rest()]);
  assertEquals((await child.status).code, 130, stderr);
  await received.until("STOPPING=1");
  listener.kill("SIGKILL");
  await Promise.all([received.rest(), listener.stderr.cancel(), listener.status]);
  return received.text.trimEnd().split("\n").slice(1).map((line) => JSON.parse(line));
}

Deno.test("watch, crawl and serve report that they are up, run and stop", () =>
  inFolder(async (folder) => {
    const range = { start: 0x7f4f0000, end: 0x7f4f0010 };
    await using _fleet = await openFleet(
      drawFleet({ servers: 2, hostile: 0, range, seed: 8, software: ["bds"] }),
      { clock: systemClock, seed: 1 },
    );
    const database = `${folder}/servers.db`;
    const scan = ["--protocol", "raknet", "--cooldown", "200ms", "-q", "-o", database];
    assertEquals((await run(["scan", "127.79.0.0/28", ...scan])).code, 0);
    const socket = `${folder}/notify`;
    const abstract = `@blocksweep-test-${crypto.randomUUID()}`;
    const optOuts = ["--opt-out-file", `${folder}/opt-out.txt`];
    const commands = [
      [
        abstract,
        ["watch", "127.254.9.9:19132", ...optOuts],
        /^READY=1\nSTATUS=1 endpoint, 0 polls$/,
      ],
      [socket, ["serve", database, "--port", "0"], /^READY=1$/],
      [
        abstract,
        ["crawl", database, "--budget", "1k/day", ...optOuts],
        /^READY=1\nSTATUS=100.0 % /,
      ],
    ] as const;
    for (const [address, args, first] of commands) {
      const sent = await messages(address, args, folder);
      assertMatch(sent[0], first);
      assertMatch(sent[1], /^WATCHDOG=1/);
      assertEquals(sent.at(-1), "STOPPING=1");
    }
  }));
