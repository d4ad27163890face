/** The users of data/campaign/nats.conf: what each may do, over TLS with an authority of our own. */
import type { NatsConnection } from "npm:@nats-io/transport-node@3.4.0";
import { assertEquals } from "@std/assert";
import type { Broker } from "../../src/campaign/nats/connection.ts";
import { ensureResultConsumer } from "../../src/campaign/nats/topology.ts";
import { run, SCAN } from "../cli/program.ts";
import { natsTest } from "./nats_server.ts";
import { type Secured, startSecured, type User, USERS } from "./secured_server.ts";

/** Who may publish to a subject. All other users are refused. */
const PERMITTED: Readonly<Record<string, readonly User[]>> = {
  "$JS.API.INFO": USERS,
  "$JS.API.STREAM.INFO.KV_BS_CONTROL": USERS,
  "$JS.API.CONSUMER.CREATE.KV_BS_CONTROL.x": USERS,
  "$JS.API.STREAM.MSG.GET.OBJ_BS_SPECS": USERS,
  // Streams
  "$JS.API.STREAM.CREATE.BS_TASKS": ["submitter"],
  "$JS.API.STREAM.CREATE.OTHER": [],
  "$JS.API.STREAM.UPDATE.BS_TASKS": [],
  "$JS.API.STREAM.DELETE.BS_TASKS": [],
  "$JS.API.STREAM.MSG.DELETE.BS_TASKS": [],
  "$JS.API.STREAM.LIST": [],
  "$JS.API.STREAM.NAMES": [],
  "$JS.API.STREAM.INFO.OTHER": [],
  "$JS.API.STREAM.PURGE.BS_TASKS": ["submitter"],
  "$JS.API.STREAM.PURGE.BS_RESULTS": ["collector", "submitter"],
  "$JS.API.STREAM.PURGE.KV_BS_CONTROL": [],
  "$JS.API.STREAM.PURGE.KV_BS_LEASES": ["submitter"],
  // Tasks
  "bs.tasks.lab": ["submitter"],
  "$JS.API.CONSUMER.CREATE.BS_TASKS.work-lab": ["submitter"],
  "$JS.API.CONSUMER.DELETE.BS_TASKS.work-lab": ["submitter"],
  "$JS.API.CONSUMER.MSG.NEXT.BS_TASKS.work-lab": ["worker"],
  "$JS.ACK.BS_TASKS.work-lab.1.1.1.1.0": ["worker"],
  "$JS.API.STREAM.MSG.GET.BS_TASKS": [],
  // Results
  "bs.results.lab.1.rows": ["worker"],
  "bs.results.lab.1.done": ["worker"],
  "bs.results.lab.1.cancelled": ["submitter", "worker"],
  "$JS.API.CONSUMER.CREATE.BS_RESULTS.collect-1": ["collector"],
  "$JS.API.CONSUMER.MSG.NEXT.BS_RESULTS.collect-1": ["collector"],
  "$JS.ACK.BS_RESULTS.collect-1.1.1.1.1.0": ["collector"],
  "$JS.API.CONSUMER.DELETE.BS_RESULTS.collect-1": ["submitter"],
  "$JS.API.STREAM.MSG.GET.BS_RESULTS": ["collector", "submitter"],
  // States, opt-outs, leases and specifications
  "$KV.BS_CONTROL.campaign.lab": ["submitter"],
  "$KV.BS_CONTROL.other": ["submitter"],
  "$KV.BS_CONTROL.optout.0a000001": ["submitter", "worker"],
  "$KV.BS_LEASES.lease.lab.1": ["submitter", "worker"],
  "$KV.BS_LEASES.worker.1": ["worker"],
  "$KV.BS_LEASES.other": [],
  "$O.BS_SPECS.M.x": ["submitter"],
  // Everything else
  "other": [],
  "$SYS.REQ.SERVER.PING": [],
  "_INBOX.collector.x": [],
};

/** Does something, and returns the subjects for which the user has no permission. */
async function refusals(broker: Broker, act: (connection: NatsConnection) => void) {
  const connection = broker.connection as unknown as NatsConnection;
  const refused: string[] = [];
  const statuses = connection.status()[Symbol.asyncIterator]();
  act(connection);
  await connection.flush();
  connection.publish("end.of.test");
  for (;;) {
    const { value } = await statuses.next();
    if (value?.type !== "error") continue;
    const { subject } = value.error as Error & { subject: string };
    if (subject === "end.of.test") return refused;
    refused.push(subject);
  }
}

natsTest("each user may publish only what its programs need", async () => {
  await using secured = await startSecured();
  for (const user of USERS) {
    await using broker = await secured.connect(user);
    const refused = await refusals(broker, (connection) => {
      for (const subject of Object.keys(PERMITTED)) connection.publish(subject);
    });
    const wanted = Object.keys(PERMITTED).filter((subject) => !PERMITTED[subject].includes(user));
    assertEquals(refused.sort(), wanted.sort(), user);
  }
});

natsTest("no user receives messages that others get", async () => {
  await using secured = await startSecured();
  const subjects = [">", "bs.>", "$KV.>", "$JS.>", "_INBOX.>"];
  for (const user of USERS) {
    await using broker = await secured.connect(user);
    const others = USERS.filter((one) => one !== user).map((other) => `_INBOX.${other}.>`);
    const all = [...subjects, ...others];
    const refused = await refusals(broker, (connection) => {
      for (const subject of all) connection.subscribe(subject, { callback: () => {} });
    });
    assertEquals(refused.sort(), all.sort(), user);
  }
});

/** Runs a command of campaigns as a user. */
async function campaign(secured: Secured, user: User, ...words: string[]) {
  const access = ["--nats", secured.url(user), "--nats-ca", secured.natsCa];
  const { code, stdout, stderr } = await run(["campaign", ...words, ...access], {
    permissions: [...SCAN, "--allow-net=127.0.0.0/8,0.0.0.0"],
  });
  return { code, stdout, stderr: stderr.trim().replaceAll(/127\.0\.0\.1:\d+/g, "HOST") };
}

const forbidden = (user: User, subject: string) =>
  `blocksweep: Cannot use NATS at "tls://${user}@HOST": the user has no permission to publish to "${subject}"`;

natsTest(
  "the commands of each user work, and those of others are refused in one line",
  async () => {
    await using secured = await startSecured();
    const submit = ["submit", "127.1.0.0/23", "--name", "lab", "--parts", "2"];
    for (const user of ["worker", "collector", "watcher"] as const) {
      const { code, stderr } = await campaign(secured, user, ...submit);
      assertEquals([code, stderr], [2, forbidden(user, "$JS.API.STREAM.CREATE.BS_TASKS")]);
    }
    const submitted = await campaign(secured, "submitter", ...submit);
    assertEquals(submitted.code, 0, submitted.stderr);

    const { code, stdout } = await campaign(secured, "watcher", "status", "lab", "--json");
    assertEquals([code, JSON.parse(stdout).parts.waiting], [0, 2]);
    assertEquals((await campaign(secured, "watcher", "list")).code, 0);
    const paused = await campaign(secured, "watcher", "pause", "lab");
    assertEquals([paused.code, paused.stderr], [
      2,
      forbidden("watcher", "$KV.BS_CONTROL.campaign.lab"),
    ]);
    const optedOut = await campaign(secured, "collector", "opt-out", "127.1.0.9");
    assertEquals([optedOut.code, optedOut.stderr], [
      2,
      forbidden("collector", "$KV.BS_CONTROL.optout.7f010009"),
    ]);
    for (
      const words of [["pause", "lab"], ["resume", "lab"], ["opt-out", "127.1.0.9"], [
        "retry",
        "lab",
      ]]
    ) {
      const { code, stderr } = await campaign(secured, "submitter", ...words);
      assertEquals(code, 0, stderr);
    }
    const cancelled = await campaign(secured, "submitter", "cancel", "lab");
    assertEquals(cancelled.code, 0, cancelled.stderr);
    await using collector = await secured.connect("collector");
    await ensureResultConsumer(collector, "0a1b", "lab");
    const removed = await campaign(secured, "submitter", "remove", "lab");
    assertEquals([removed.code, removed.stderr], [
      0,
      "campaign lab is removed, with results that not all databases have",
    ]);
    const again = await campaign(secured, "submitter", ...submit.with(3, "two"));
    assertEquals(again.code, 0, again.stderr);
  },
);
