/**
 * The commands of campaigns with a real NATS server. Covers src/cli/commands/campaign/,
 * src/campaign/submit/submit.ts, src/campaign/submit/prepare_campaign.ts, src/campaign/tasks.ts,
 * src/campaign/change/change_campaign.ts, src/campaign/change/cancel_parts.ts, src/campaign/status/read_status.ts and src/campaign/stored_leases.ts.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { formatLeaseValue, type LeaseValue } from "../../../../src/campaign/lease_value.ts";
import {
  LEASE_BUCKET,
  leaseKey,
  RESULTS,
  resultSubject,
  taskConsumer,
  TASKS,
} from "../../../../src/campaign/names.ts";
import { type Broker, connectBroker } from "../../../../src/campaign/nats/connection.ts";
import { parsePartEnd } from "../../../../src/campaign/results.ts";
import { JSON_RESULTS } from "../../../../src/cli/term/json_results.ts";
import { freePort } from "../../../fakes/free_port.ts";
import { natsTest, startNats } from "../../../campaign/nats_server.ts";
import { PrintedText, run, start } from "../../program.ts";
import { runHere } from "../../run_here.ts";
import CONFIG from "../../../../deno.json" with { type: "json" };

const TARGETS = ["10.0.0.0/21", "--exclude", "10.0.1.0/24"];

/** A server, and a folder for files of a submitter. */
interface Place extends AsyncDisposable {
  readonly broker: Broker;
  readonly folder: string;
  /** Runs `campaign WORDS` with this server. */
  readonly run: (...words: string[]) => ReturnType<typeof runHere>;
  /** Runs `campaign submit WORDS` with an opt-out file in the folder. */
  readonly submit: (...words: string[]) => ReturnType<typeof runHere>;
}

async function open(): Promise<Place> {
  await using opening = new AsyncDisposableStack();
  const server = opening.use(await startNats());
  const broker = opening.use(await connectBroker({ nats: server.url }, "test"));
  const folder = await Deno.makeTempDir();
  opening.defer(() => Deno.remove(folder, { recursive: true }));
  const run = (...words: string[]) => runHere(["campaign", ...words, "--nats", server.url]);
  const file = ["--opt-out-file", `${folder}/opt-out.txt`];
  const opened = opening.move();
  return {
    broker,
    folder,
    run,
    submit: (...words) => run("submit", ...words, ...file),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** The parts whose tasks are queued, ascending. */
async function queued({ jsm }: Broker): Promise<number[]> {
  const { state } = await jsm.streams.info(TASKS);
  const parts: number[] = [];
  for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
    const message = await jsm.streams.getMessage(TASKS, { seq });
    if (message !== null) parts.push(JSON.parse(new TextDecoder().decode(message.data)).part);
  }
  return parts.sort((a, b) => a - b);
}

/** Writes the lease of a part, as a worker does. */
async function writeLease(broker: Broker, part: number, more: Partial<LeaseValue>) {
  const bucket = await broker.bucket(LEASE_BUCKET);
  const counters = { sent: 10, replies: 3, found: 2, position: 50, total: 100 };
  const marks = { udp: { pass: 1, position: 7 }, tcp: { pass: 1, position: 0 } };
  const value: LeaseValue = {
    ...{ state: "held", worker: "w1", tries: 1, at: 0, marks, counters, rate: 5 },
    ...more,
  };
  await bucket.put(leaseKey("lab", part), formatLeaseValue(value));
}

/** The objects that a command prints. */
function objects(stdout: string): Record<string, unknown>[] {
  return stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
}

natsTest("a campaign is submitted once, and listed; a second submit changes nothing", async () => {
  await using place = await open();
  const { run, submit, broker } = place;
  for (const command of ["list", "status"]) {
    assertEquals(await run(command), { code: 0, stdout: "no campaigns\n", stderr: "" });
    assertEquals(await run(command, "--json"), { code: 0, stdout: "", stderr: "" });
  }
  assertStringIncludes((await run("status", "lab")).stderr, "submit a campaign first");
  const options = ["--name", "lab", "--parts", "3", "--rate", "50"];
  assertEquals(await submit(...TARGETS, ...options), {
    code: 0,
    stdout: "",
    stderr: "campaign lab: 3 parts queued. Next: campaign work scans them, campaign collect " +
      "-o DATABASE writes the rows.\n",
  });
  assertEquals(await queued(broker), [1, 2, 3]);
  const again = await submit(...TARGETS, ...options);
  assertEquals([again.code, again.stderr], [
    0,
    "campaign lab: already submitted; nothing changed\n",
  ]);
  // The same addresses, written in another way.
  const rewritten = await submit("10.0.2.0-10.0.7.255,10.0.0.0/24", "10.0.4.0/23", ...options);
  assertStringIncludes(rewritten.stderr, "already submitted; nothing changed");
  assertEquals(await queued(broker), [1, 2, 3]);
  const list = await run("list", "--json");
  const [listed, ...more] = objects(list.stdout);
  assertEquals(more, []);
  assertEquals(Object.keys(listed), Object.keys(JSON_RESULTS["campaign list"]));
  assertEquals([listed.name, listed.state, listed.parts], ["lab", "running", 3]);
  assertStringIncludes((await run("list")).stdout, "running    3      lab");
});

natsTest("a submit says which settings existing streams keep", async () => {
  await using place = await open();
  const { submit } = place;
  await submit("10.9.0.0/24", "--name", "a", "--results-limit", "2M");
  const kept = await submit(
    ...["10.9.0.0/24", "--name", "b", "--replicas", "3", "--results-limit", "4M"],
  );
  assertEquals(kept.stderr.split("\n").slice(0, 3), [
    "--replicas is ignored: the streams exist, and keep --replicas 1",
    "--results-limit is ignored: the streams exist, and keep 2 MiB for results",
    "campaign b: 1 part queued. Next: campaign work scans it, campaign collect -o DATABASE " +
    "writes the rows.",
  ]);
  const same = await submit("10.9.0.0/24", "--name", "c");
  assertEquals(same.stderr.split("\n").length, 2, same.stderr);
  const wrong = await submit("10.9.0.0/24", "--replicas", "2");
  assertStringIncludes(wrong.stderr, '--replicas "2": expected 1 or 3\n');
});

natsTest("another campaign of the same name is refused, with what differs", async () => {
  await using place = await open();
  const { submit, broker } = place;
  await submit(...TARGETS, "--name", "lab", "--seed", "7", "--parts", "3");
  for (
    const [words, what] of [
      [["10.0.0.0/20", "--seed", "7", "--parts", "3"], "targets"],
      [[...TARGETS, "--seed", "8", "--parts", "3"], "--seed"],
      [[...TARGETS, "--seed", "7", "--parts", "4"], "--parts"],
      [[...TARGETS, "-p", "9", "--parts", "3"], "--ports"],
      [[...TARGETS, "--parts", "3", "--rate", "9", "--ack-wait", "9s"], "--rate, --ack-wait"],
      [[...TARGETS, "--parts", "3", "--max-running", "2"], "--max-running"],
    ] as [string[], string][]
  ) {
    const { code, stderr } = await submit(...words, "--name", "lab");
    assertEquals(code, 2, stderr);
    assertStringIncludes(stderr, ` has other ${what}; choose another --name`);
  }
  assertEquals(await queued(broker), [1, 2, 3]);
  assertEquals((await submit("10.9.0.0/24", "--name", "other")).code, 0);
});

natsTest(
  "the states of a campaign change only in order, and a typing error names the campaign",
  async () => {
    await using place = await open();
    const { run, submit, broker } = place;
    await submit(...TARGETS, "--name", "lab", "--parts", "3");
    const refused = async (words: string[], message: string) => {
      const { code, stderr, stdout } = await run(...words);
      assertEquals([code, stdout, stderr], [2, "", `blocksweep: ${message}\n`]);
    };
    await refused(["pause", "lba"], 'Cannot find campaign "lba"; did you mean lab?');
    await refused(["status", "other"], 'Cannot find campaign "other"; campaign list shows all');
    await refused(["pause"], "Cannot run campaign pause: name a campaign; campaign list shows all");
    await refused(["resume", "lab"], "Cannot resume campaign lab: it is running");
    await refused(
      ["remove", "lab"],
      "Cannot remove campaign lab: it is running; end it first with campaign cancel lab",
    );
    assertStringIncludes((await run("pause", "lab")).stderr, "campaign lab is paused");
    await refused(["pause", "lab"], "Cannot pause campaign lab: it is paused");
    const again = await submit(...TARGETS, "--name", "lab", "--parts", "3");
    assertStringIncludes(again.stderr, "already submitted; nothing changed; it is paused");
    assertStringIncludes((await run("resume", "lab")).stderr, "campaign lab runs again");
    assertStringIncludes((await run("cancel", "lab")).stderr, "campaign lab is cancelled");
    assertEquals(await queued(broker), []);
    await refused(["resume", "lab"], "Cannot resume campaign lab: it is cancelled");
    await refused(["retry", "lab"], "Cannot retry campaign lab: it is cancelled");
    const cancelled = await submit(...TARGETS, "--name", "lab", "--parts", "3");
    assertEquals([cancelled.code, cancelled.stderr], [
      2,
      "blocksweep: Cannot submit campaign lab: it is cancelled; choose another --name\n",
    ]);
    assertEquals(await queued(broker), []);
  },
);

natsTest("status shows parts, workers and results, as text and as JSON", async () => {
  await using place = await open();
  const { run, submit, broker } = place;
  await submit(...TARGETS, "--name", "lab", "--parts", "4", "--rate", "50");
  await writeLease(broker, 2, {});
  await writeLease(broker, 3, { state: "poisoned", tries: 5, why: "no route" });
  await broker.js.publish(resultSubject("lab", 3, "poisoned"), "{}");
  const { stdout } = await run("status", "lab", "--json");
  const [status] = objects(stdout);
  assertEquals(Object.keys(status), Object.keys(JSON_RESULTS["campaign status"]));
  assertEquals(status.parts, { waiting: 2, held: 1, lost: 0, done: 0, poisoned: 1, cancelled: 0 });
  assertEquals([status.rate, status.budget, status.state], [5, 50, "running"]);
  const [poisoned] = status.poisoned_parts as { part: number; why: string }[];
  assertEquals([poisoned.part, poisoned.why], [3, "no route"]);
  const { messages, is_full } = status.results as { messages: number; is_full: boolean };
  assertEquals([messages, is_full], [1, false]);
  const text = (await run("status")).stdout;
  assertStringIncludes(text, "campaign lab running");
  assertStringIncludes(text, "parts: 2 waiting, 1 held, 1 poisoned\n");
  assertStringIncludes(text, "part 3 is poisoned after 5 tries: no route\n");
  assertStringIncludes(text, "results in NATS: 1 message, 0 of 1,024 MiB\n");
  const both = await run("status", "--watch", "--json");
  assertStringIncludes(both.stderr, "Cannot use --watch with --json");
});

natsTest(
  "status --watch prints lines into a pipe until Ctrl-C, with the permissions of the task",
  async () => {
    await using server = await startNats();
    const { command } = CONFIG.tasks.campaign;
    const permissions = command.split(" ").filter((word: string) => word.startsWith("--allow-"))
      .map((word: string) =>
        word === "--allow-net" ? `--allow-net=127.0.0.1:${server.port}` : word
      );
    const nats = ["--nats", server.url];
    const submit = ["campaign", "submit", "10.0.0.0/23", "--name", "lab", ...nats];
    submit.push("--contact", "abuse@example.org");
    const submitted = await run(submit, { permissions });
    assertStringIncludes(submitted.stderr, "blocksweep: the contact is kept in ");
    assertEquals([submitted.code, submitted.stdout], [0, ""], submitted.stderr);
    const child = start(["campaign", "status", "--watch", ...nats], { permissions });
    const printed = new PrintedText(child, child.stdout);
    await printed.until("\n");
    child.kill("SIGINT");
    assertEquals(
      await printed.rest(),
      "campaign lab running  0.0%  0/s of 1,000/s; parts: 2 waiting; 0 packets sent, 0 replies, " +
        "0 servers found\n",
    );
    const errors = await new PrintedText(child).rest();
    assertEquals([(await child.status).code, errors], [130, ""]);
  },
);

natsTest("retry queues the poisoned parts alone, once, and a second one completes it", async () => {
  await using place = await open();
  const { run, submit, broker } = place;
  await submit(...TARGETS, "--name", "lab", "--parts", "4");
  await broker.jsm.streams.purge(TASKS); // as if workers had taken all of them
  await writeLease(broker, 1, { state: "done" });
  await writeLease(broker, 2, { state: "poisoned", tries: 5, why: "no route" });
  await writeLease(broker, 3, { state: "released", tries: 0 });
  // a retry that was killed
  await writeLease(broker, 4, {
    state: "released",
    worker: "campaign-retry",
    tries: 0,
    retries: 1,
  });
  assertStringIncludes((await run("retry", "lab")).stderr, "has 2 parts queued again");
  assertEquals(await queued(broker), [2, 4]);
  const { value } = (await (await broker.bucket(LEASE_BUCKET)).get(leaseKey("lab", 2)))!;
  const { state, tries, retries, why, marks } = JSON.parse(new TextDecoder().decode(value));
  assertEquals([state, tries, retries, why, marks.udp.position], ["released", 0, 1, undefined, 7]);
  await run("retry", "lab");
  assertEquals(await queued(broker), [2, 4]);
  await broker.jsm.streams.purge(TASKS);
  await writeLease(broker, 2, { state: "poisoned", tries: 5, retries: 1 });
  await writeLease(broker, 4, { state: "done", retries: 1 });
  await run("retry", "lab");
  assertEquals(await queued(broker), [2]); // a new try, which NATS does not take for the first one
  await broker.jsm.streams.purge(TASKS);
  await writeLease(broker, 2, { state: "done" });
  assertStringIncludes((await run("retry", "lab")).stderr, "campaign lab has no poisoned parts");
});

natsTest(
  "cancel ends the parts that no worker will end, and publishes their ends once",
  async () => {
    await using place = await open();
    const { run, submit, broker } = place;
    await submit(...TARGETS, "--name", "lab", "--parts", "5", "--ack-wait", "2s");
    await writeLease(broker, 1, { state: "done" });
    await writeLease(broker, 2, { state: "released", tries: 0 });
    await writeLease(broker, 3, {});
    // The time after which a worker counts as gone
    const ackWait = async (milliseconds: number) => {
      const { config } = await broker.jsm.consumers.info(TASKS, taskConsumer("lab"));
      const changed = { ...config, ack_wait: milliseconds * 1e6 };
      await broker.jsm.consumers.update(TASKS, taskConsumer("lab"), changed);
    };
    await ackWait(3_600_000);
    for (const _ of [1, 2]) {
      const { stderr } = await run("cancel", "lab");
      assertEquals(stderr, "campaign lab is cancelled; workers are ending 1 part\n");
    }
    const [status] = objects((await run("status", "lab", "--json")).stdout);
    assertEquals(status.parts, {
      waiting: 0,
      held: 1,
      lost: 0,
      done: 1,
      poisoned: 0,
      cancelled: 3,
    });
    const ends = async () => {
      const { state } = await broker.jsm.streams.info(RESULTS, { subjects_filter: "bs.results.>" });
      return Object.entries(state.subjects ?? {}).map(([subject, count]) => `${subject} ${count}`);
    };
    const end = (part: number) => `${resultSubject("lab", part, "cancelled")} 1`;
    assertEquals((await ends()).sort(), [2, 4, 5].map(end));
    const query = { last_by_subj: resultSubject("lab", 2, "cancelled") };
    const message = await broker.jsm.streams.getMessage(RESULTS, query);
    const { counters, tries } = parsePartEnd(new TextDecoder().decode(message!.data));
    assertEquals([counters.sent, tries], [10, 0]);
    await ackWait(1);
    assertEquals((await run("cancel", "lab")).stderr, "campaign lab is cancelled\n");
    assertEquals((await ends()).sort(), [2, 3, 4, 5].map(end));
  },
);

natsTest("a campaign with poisoned parts is removed after a retry or a cancel only", async () => {
  await using place = await open();
  const { run, submit, broker } = place;
  await submit(...TARGETS, "--name", "lab", "--parts", "2");
  await broker.jsm.streams.purge(TASKS);
  await writeLease(broker, 1, { state: "done" });
  await writeLease(broker, 2, { state: "poisoned", tries: 5, why: "no route" });
  const [ended] = objects((await run("status", "lab", "--json")).stdout);
  assertEquals(ended.state, "ended");
  assertStringIncludes((await run("list")).stdout, "ended      2      lab");
  const { code, stderr } = await run("remove", "lab");
  assertEquals([code, stderr], [
    2,
    "blocksweep: Cannot remove campaign lab: 1 part is poisoned: campaign retry lab, or " +
    "campaign cancel lab first\n",
  ]);
  assertEquals((await run("cancel", "lab")).stderr, "campaign lab is cancelled\n");
  assertEquals((await run("remove", "lab")).stderr, "campaign lab is removed\n");
});

natsTest("a campaign is removed when workers and collectors are through with it", async () => {
  await using place = await open();
  const { run, submit, broker } = place;
  await submit(...TARGETS, "--name", "lab", "--parts", "2");
  await submit("10.9.0.0/24", "--name", "lab-2");
  await writeLease(broker, 1, {});
  const cancelled = (await run("cancel", "lab")).stderr;
  assertEquals(cancelled, "campaign lab is cancelled; workers are ending 1 part\n");
  const removed = async () => (await run("remove", "lab")).stderr;
  assertStringIncludes(await removed(), "workers still have 1 part; wait until they have stopped");
  await writeLease(broker, 1, { state: "cancelled" });
  assertEquals(
    await removed(),
    "campaign lab is removed, with results that not all databases have\n",
  );
  const left = objects((await run("list", "--json")).stdout);
  assertEquals(left.map(({ name }) => name), ["lab-2"]);
  assertEquals(await queued(broker), [1]);
  const leases = await broker.bucket(LEASE_BUCKET);
  assertEquals(await leases.get(leaseKey("lab", 1)), null);
  // The name is free again, and a worker that was late does not end its parts.
  await writeLease(broker, 2, { state: "cancelled" });
  assertStringIncludes(
    (await submit(...TARGETS, "--name", "lab", "--parts", "3")).stderr,
    "3 parts",
  );
  assertEquals(await queued(broker), [1, 1, 2, 3]);
  assertEquals(await leases.get(leaseKey("lab", 2)), null);
});

natsTest("opt-outs are shared between the submitter's file and all campaigns", async () => {
  await using place = await open();
  const { run, submit, folder } = place;
  const file = `${folder}/opt-out.txt`;
  await Deno.writeTextFile(file, "10.0.0.7\n10.0.4.0/24\n");
  await submit(...TARGETS, "--name", "lab", "--parts", "2");
  const opted = await run("opt-out", "::ffff:10.0.0.9", "2001:db8::7");
  assertEquals([opted.code, opted.stderr], [
    0,
    "2 addresses have opted out: no campaign probes them\n",
  ]);
  // New opt-outs do not make it another campaign, and reach the submitter's file.
  const again = await submit(...TARGETS, "--name", "lab", "--parts", "2");
  assertStringIncludes(again.stderr, "already submitted; nothing changed");
  const text = await Deno.readTextFile(file);
  assert(/^10\.0\.0\.9 /m.test(text) && /^2001:db8::7 /m.test(text), text);
  await Deno.remove(file);
  await submit(...TARGETS, "--name", "other");
  assert(/^10\.0\.0\.7 /m.test(await Deno.readTextFile(file)));
  assertEquals((await run("opt-out")).stderr, "blocksweep: Cannot opt out: name addresses\n");
  const wrong = await run("opt-out", "10.0.0.1", "host.example.org");
  assertStringIncludes(wrong.stderr, 'Cannot opt out "host.example.org": expected an address');
});

Deno.test("a submit is refused with the reason: options of other commands, targets, permission", async () => {
  const refused = async (words: string[], message: string) => {
    const args = ["--nats", `nats://127.0.0.1:${freePort()}`, "--opt-out-file", "/nonexistent/o"];
    const { code, stderr } = await runHere(["campaign", "submit", ...words, ...args]);
    assertEquals(code, 2, stderr);
    assertStringIncludes(stderr, message);
  };
  await refused(["10.0.0.1", "--rate", "auto"], 'Cannot use --rate "auto": workers share one rate');
  await refused(["10.0.0.1", "--rate", "auto:5k"], "workers share one rate");
  for (
    const [option, reason] of [
      ["--rescan", "servers of a database change while workers scan; write them into a file"],
      ["--max-results", "a worker does not know"],
      ["--adaptive", "a campaign probes each endpoint of its parts"],
      ["--net-budget", "a campaign probes each endpoint of its parts"],
      ["--shard", "a campaign divides its targets by itself"],
      ["--resume", "workers continue unfinished parts by themselves"],
      ["-o", "rows go to the database of campaign collect"],
    ]
  ) await refused(["10.0.0.1", option, "1/2"], `Unknown option ${option}; ${reason}`);
  await refused(["10.0.0.1", "--parts", "4097"], "expected a whole number from 1 to 4096");
  await refused(["10.0.0.1", "--name", "Lab"], "1 to 40 of a-z, 0-9 and -");
  await refused([], "Cannot scan: name addresses");
  await refused(["10.0.0.1", "--exclude", "10.0.0.1"], "no target is left");
  await refused(["8.8.8.8"], "Cannot scan 1 public address without --i-have-permission");
  await refused(["10.0.0.1", "--json"], "Cannot use --json without --dry-run");
  await refused(["10.0.0.1"], "no server listens there");
});

Deno.test("a dry run needs no server: it prints the parts, what workers send, and their number", async () => {
  const words = ["campaign", "submit", "10.0.0.0/21", "--name", "lab", "--protocol", "raknet"];
  const more = ["--rate", "256", "--retries", "0", "--net-rate", "off", "--host-rate", "off"];
  const parts = ["--parts", "4", "--max-running", "2", "--opt-out-file", "/nonexistent/o"];
  const args = [...words, ...more, ...parts, "--dry-run"];
  const { code, stdout } = await runHere(args);
  assertEquals(code, 0);
  const lines = stdout.split("\n");
  const row = (name: string) => lines.find((line) => line.startsWith(name))?.slice(13);
  assertEquals(row("parts"), "4 of 8 networks (/24, IPv6: /48), at most 2 at the same time");
  // 512 probes at half the rate, and the cooldown
  assertEquals(
    row("a part"),
    "the first: at most 512 datagrams and 0 connections, at least 00:00:09",
  );
  assertEquals(row("duration"), "at least 00:00:18");
  assertStringIncludes(row("workers")!, "1 worker with 4 slots");
  assertEquals(row("bandwidth"), "at most 203 kbit/s on Ethernet, of all workers together");
  const [plan] = objects((await runHere([...args, "--json"])).stdout);
  assertEquals(Object.keys(plan), Object.keys(JSON_RESULTS["campaign submit --dry-run"]));
  assertEquals([plan.parts, plan.networks, plan.max_running], [4, 8, 2]);
  assertEquals([plan.probes, plan.duration_s], [2048, 18]);
  const fewer = await runHere([
    ...words,
    "--dry-run",
    "--parts",
    "99",
    "--json",
    ...parts.slice(4),
  ]);
  assertEquals([objects(fewer.stdout)[0].parts, objects(fewer.stdout)[0].max_running], [8, 8]);
});
