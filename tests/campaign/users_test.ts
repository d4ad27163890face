/** The users of data/campaign/nats.conf: what each may do, over TLS with an authority of our own. */
import { headers, type NatsConnection } from "npm:@nats-io/transport-node@3.4.0";
import { assertEquals } from "@std/assert";
import type { Broker } from "../../src/campaign/nats/connection.ts";
import { CONTROL_BUCKET, OPT_OUT_BUCKET } from "../../src/campaign/names.ts";
import {
  ensureResultConsumer,
  ensureTaskConsumer,
  ensureTopology,
} from "../../src/campaign/nats/topology.ts";
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
  "$JS.API.STREAM.PURGE.KV_BS_OPT_OUTS": ["submitter"],
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
  "$KV.BS_OPT_OUTS.0a000001": ["submitter", "worker"],
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

/** A user's connection, with its replies in an inbox. */
async function connectionOf(secured: Secured, user: User) {
  const broker = await secured.connect(user);
  const connection = broker.connection as unknown as NatsConnection;
  const send = async (subject: string, reply: string, body = "", header?: [string, string]) => {
    const sent = headers();
    if (header !== undefined) sent.set(...header);
    connection.publish(subject, body, { reply, headers: sent });
    // The server handles the messages of a connection in order.
    await connection.request("$JS.API.INFO", "", { timeout: 10_000 });
  };
  return { broker, send };
}

/**
 * What a hostile program could have changed: the numbers of messages that the streams have got, except
 * those of this function, the number of tasks that are delivered, and two entries.
 */
function observer({ js, jsm, bucket }: Broker) {
  let round = 0;
  return async () => {
    const optOut = `0b${String(++round).padStart(6, "0")}`;
    const subjects = ["bs.tasks.mark", "bs.results.lab.1.cancelled", "$O.BS_SPECS.M.mark"];
    const keys = ["BS_CONTROL.mark", `BS_OPT_OUTS.${optOut}`, "BS_LEASES.lease.mark.1"];
    // A stream stores its messages in order: the confirmed one is after those that were sent before.
    const acks = await Promise.all(
      [...subjects, ...keys.map((key) => `$KV.${key}`)].map((subject) => js.publish(subject, "x")),
    );
    const { num_ack_pending } = await jsm.consumers.info("BS_TASKS", "work-lab");
    const entries = [
      await (await bucket(CONTROL_BUCKET)).get("campaign.lab"),
      await (await bucket(OPT_OUT_BUCKET)).get("0a000001"),
    ];
    const values = entries.map((entry) => entry?.string());
    return { got: acks.map(({ seq }) => seq - round), delivered: num_ack_pending, values };
  };
}

natsTest(
  "no user writes through replies, consumers or headers what it may not publish",
  async () => {
    await using secured = await startSecured();
    await using submitter = await secured.connect("submitter");
    await ensureTopology(submitter, { replicas: 1, resultsLimit: 2 ** 26 });
    await ensureTaskConsumer(submitter, "lab", { ackWaitMs: 30_000, maxRunning: 9 });
    for (const task of ["a", "b"]) await submitter.js.publish("bs.tasks.lab", task);
    await (await submitter.bucket(CONTROL_BUCKET)).put("campaign.lab", "{}");
    await (await submitter.bucket(OPT_OUT_BUCKET)).put("0a000001", "{}");
    const observe = observer(submitter);
    const before = await observe();
    const places = [
      ...["$KV.BS_CONTROL.campaign.lab", "bs.tasks.lab", "$O.BS_SPECS.M.x"],
      ...["$JS.API.STREAM.PURGE.BS_RESULTS", "$JS.API.STREAM.DELETE.KV_BS_CONTROL"],
      "$JS.API.CONSUMER.MSG.NEXT.BS_TASKS.work-lab",
    ];
    /** Places that a worker may write itself. */
    const ofWorkers = [
      "$KV.BS_OPT_OUTS.0a000001",
      "$KV.BS_LEASES.lease.lab.1",
      "bs.results.lab.1.rows",
    ];
    for (const user of ["watcher", "collector", "worker"] as const) {
      const { broker, send } = await connectionOf(secured, user);
      await using _ = broker;
      const info = "$JS.API.STREAM.INFO.BS_TASKS";
      for (const [i, place] of [...places, ...user === "worker" ? [] : ofWorkers].entries()) {
        await send(info, place);
        await send(info, place, "", ["Nats-Rollup", "all"]);
        await send(info, place, "", ["Nats-Request-Info", '{"acc":"STATE","svc":"STATE"}']);
        const name = `${user}${i}`;
        const config = {
          name,
          deliver_subject: place,
          deliver_policy: "all",
          ack_policy: "explicit",
        };
        const options = { mem_storage: true, inactive_threshold: 60e9, headers_only: i % 2 === 0 };
        const body = { stream_name: "KV_BS_CONTROL", config: { ...config, ...options } };
        const subject = `$JS.API.CONSUMER.CREATE.KV_BS_CONTROL.${name}`;
        await send(subject, `_INBOX.${user}.x`, JSON.stringify(body));
      }
      assertEquals(await observe(), before, user);
    }
    const { broker, send } = await connectionOf(secured, "worker");
    await using _ = broker;
    // The confirmation of a message, and a task, go to the subject of the reply too.
    for (const place of places) {
      await send("bs.results.lab.1.rows", place, "x");
      await send(
        "$JS.API.CONSUMER.MSG.NEXT.BS_TASKS.work-lab",
        place,
        '{"batch":1,"no_wait":true}',
      );
    }
    const { got, values } = await observe();
    assertEquals(got, before.got.with(1, before.got[1] + places.length));
    assertEquals(values, before.values);
  },
);

Deno.test("the accounts of the configuration import what their users may publish", async () => {
  const file = new URL("../../data/campaign/nats.conf", import.meta.url);
  const config = (await Deno.readTextFile(file)).replaceAll(/^ *#.*$/gm, "");
  for (const user of USERS) {
    const [, allowed] = new RegExp(`^${user} = \\{\\s*publish: \\[([^\\]]*)`, "m").exec(config)!;
    const [, account] = new RegExp(`^  ${user.toUpperCase()} \\{([^]*?)^  \\}`, "m").exec(config)!;
    const quoted = (text: string) => [...text.matchAll(/"([^"]+)"/g)].map(([, one]) => one);
    const imports = [...account.matchAll(/\{ service: .*? subject: ("[^"]+")/g)];
    assertEquals(imports.flatMap(([, one]) => quoted(one)).sort(), quoted(allowed).sort(), user);
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
      forbidden("collector", "$KV.BS_OPT_OUTS.7f010009"),
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
