/** A submit that ends at any of its writes: src/campaign/submit/submit.ts and src/campaign/tasks.ts. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { Control } from "../../../src/campaign/control.ts";
import { formatLeaseValue, UNTAKEN } from "../../../src/campaign/lease_value.ts";
import { LEASE_BUCKET, leaseKey, TASKS, taskSubject } from "../../../src/campaign/names.ts";
import { type Broker, connectBroker } from "../../../src/campaign/nats/connection.ts";
import {
  prepareCampaign,
  type PreparedCampaign,
} from "../../../src/campaign/submit/prepare_campaign.ts";
import { getSpec } from "../../../src/campaign/spec.ts";
import { submitCampaign } from "../../../src/campaign/submit/submit.ts";
import { InputError } from "../../../src/core/errors.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { natsTest, startNats } from "../nats_server.ts";

const PARTS = 3;

const fail = (line: string) => {
  throw new Error(line);
};

const submit = (broker: Broker, campaign: PreparedCampaign) =>
  submitCampaign(broker, campaign, fail);

/** Prepares the same campaign each time, apart from its random seed and its time. */
async function prepare(name: string, words = ["10.0.0.0/22"], more: [string, string[]][] = []) {
  return await prepareCampaign({
    words,
    given: new Map([
      ...more,
      ["name", [name]],
      ["parts", [`${PARTS}`]],
      ["opt-out-file", ["/nonexistent/opt-out.txt"]],
    ]),
  }, {
    program: "0.1.0",
    allProtocols: PROTOCOLS,
    nameOf: (name) => name,
    keptContact: () => Promise.resolve("abuse@example.org"),
    warn: () => {},
    note: () => {},
  });
}

Deno.test("a campaign of public addresses contains the kept contact", async () => {
  const contactOf = async (target: string) => {
    const { spec } = await prepare("lab", [target], [["i-have-permission", ["true"]]]);
    return spec.configuration.given.given.get("contact");
  };
  assertEquals(await contactOf("8.8.8.0/24"), ["abuse@example.org"]);
  assertEquals(await contactOf("10.0.0.0/24"), undefined);
});

/** A program that is killed after a number of writes: later requests get no reply. */
function ending(broker: Broker, writes: number): { broker: Broker; count: () => number } {
  let count = 0;
  const write =
    <Args extends unknown[], T>(send: (...args: Args) => Promise<T>) => (...args: Args) => {
      if (count >= writes) return Promise.reject(new Error("killed"));
      count++;
      return send(...args);
    };
  const { js, jsm } = broker;
  const wrapped: Broker = {
    ...broker,
    js: { ...js, publish: write((...args) => js.publish(...args)) },
    jsm: {
      ...jsm,
      jetstream: () => jsm.jetstream(),
      getAccountInfo: () => jsm.getAccountInfo(),
      streams: bound(jsm.streams, { add: write((config) => jsm.streams.add(config)) }),
      consumers: bound(jsm.consumers, {
        add: write((stream, config) => jsm.consumers.add(stream, config)),
      }),
    },
    bucket: async (name) => {
      const bucket = await broker.bucket(name);
      return bound(bucket, { create: write((key, value) => bucket.create(key, value)) });
    },
    objects: async (name) => {
      const store = await broker.objects(name);
      return bound(store, { putBlob: write((meta, data) => store.putBlob(meta, data)) });
    },
  };
  return { broker: wrapped, count: () => count };
}

/** An object with other methods. */
function bound<T extends object>(object: T, methods: Partial<T>): T {
  return new Proxy(object, {
    get(target, name) {
      const own = Reflect.get(methods, name);
      const value = own ?? Reflect.get(target, name);
      return typeof value === "function" && own === undefined ? value.bind(target) : value;
    },
  });
}

function specOf(broker: Broker, name: string, digest: string) {
  return getSpec(broker, { name, digest, program: "0.1.0", allProtocols: PROTOCOLS });
}

async function tasksOf({ jsm }: Broker, name: string): Promise<number> {
  const { state } = await jsm.streams.info(TASKS, { subjects_filter: taskSubject(name) });
  return state.subjects?.[taskSubject(name)] ?? 0;
}

natsTest("a submit that is killed at any of its writes is completed by the next one", async () => {
  await using server = await startNats();
  await using broker = await connectBroker({ nats: server.url }, "test");
  await submit(broker, await prepare("first")); // creates the streams
  const outcomes: string[] = [];
  for (let writes = 0;; writes++) {
    const name = `killed-${writes}`;
    const short = ending(broker, writes);
    const submitted = submit(short.broker, await prepare(name));
    const isKilled = await submitted.then(() => false, () => true);
    if (!isKilled) {
      assertEquals(short.count(), writes);
      break;
    }
    {
      await using control = await Control.open(broker, fail);
      const entry = control.campaigns().get(name);
      // Workers find no task without an entry, and each entry names a spec that they can read.
      if (entry === undefined) assertEquals(await tasksOf(broker, name), 0);
      else assertEquals((await specOf(broker, name, entry.spec)).name, name);
    }
    const { outcome, state } = await submit(broker, await prepare(name));
    outcomes.push(outcome);
    assertEquals([state, await tasksOf(broker, name)], ["running", PARTS]);
    const third = await submit(broker, await prepare(name));
    assertEquals([third.outcome, await tasksOf(broker, name)], ["unchanged", PARTS]);
  }
  // The spec, the consumer, the entry, and a task for each part
  assert(outcomes.length === 3 + PARTS, outcomes.join());
  assertEquals(new Set(outcomes), new Set(["submitted", "completed"]));
});

natsTest(
  "a day later nothing is queued twice, and missing tasks are an error",
  async () => {
    await using server = await startNats();
    await using broker = await connectBroker({ nats: server.url }, "test");
    await submit(broker, await prepare("first"));
    const yesterday = async (name: string) => {
      const campaign = await prepare(name);
      return { ...campaign, spec: { ...campaign.spec, submittedAt: Date.now() - 86_400_000 } };
    };
    await submit(broker, await yesterday("whole"));
    const again = await submit(broker, await prepare("whole"));
    assertEquals([again.outcome, await tasksOf(broker, "whole")], ["unchanged", PARTS]);
    // The spec, the consumer, the entry, and one task
    const short = ending(broker, 4);
    const campaign = await yesterday("part");
    await assertRejects(() => submit(short.broker, campaign), Error, "killed");
    const second = await prepare("part");
    await assertRejects(
      () => submit(broker, second),
      InputError,
      "Cannot complete campaign part: its submit ended early, and is too old",
    );
    assertEquals(await tasksOf(broker, "part"), 1);
  },
);

natsTest(
  "a task per view is queued, and a submit that is killed between them is completed",
  async () => {
    await using server = await startNats();
    await using broker = await connectBroker({ nats: server.url }, "test");
    const views = () => prepare("views", undefined, [["views", ["2"]]]);
    await submit(broker, await prepare("first"));
    // The spec, the consumer, the entry, and the tasks of all views but one
    const short = ending(broker, 3 + 2 * PARTS - 1);
    const killed = await views();
    await assertRejects(() => submit(short.broker, killed), Error, "killed");
    assertEquals(await tasksOf(broker, "views"), 2 * PARTS - 1);
    for (const outcome of ["completed", "unchanged"]) {
      assertEquals((await submit(broker, await views())).outcome, outcome);
      assertEquals(await tasksOf(broker, "views"), 2 * PARTS);
    }
    const other = await prepare("views");
    await assertRejects(() => submit(broker, other), InputError, "has other --views");
    const old = await views();
    const yesterday = Date.now() - 86_400_000;
    await submit(broker, { ...old, spec: { ...old.spec, name: "old", submittedAt: yesterday } });
    const again = await prepare("old", undefined, [["views", ["2"]]]);
    assertEquals((await submit(broker, again)).outcome, "unchanged");
    const bucket = await broker.bucket(LEASE_BUCKET);
    const value = { ...UNTAKEN, worker: "w1", at: 1, state: "done" } as const;
    await bucket.put(leaseKey("old", 1), formatLeaseValue(value));
    assertEquals((await submit(broker, again)).outcome, "unchanged");
  },
);

natsTest("two submits at the same time leave one campaign, whose spec can be read", async () => {
  await using server = await startNats();
  await using one = await connectBroker({ nats: server.url }, "test");
  await using two = await connectBroker({ nats: server.url }, "test");
  await submit(one, await prepare("first"));
  for (const [name, parts] of [["equal", PARTS], ["other", PARTS - 1]] as const) {
    const [campaign, other] = [await prepare(name), await prepare(name)];
    const campaigns = [campaign, { ...other, spec: { ...other.spec, parts } }];
    const outcomes = await Promise.allSettled([
      submit(one, campaigns[0]),
      submit(two, campaigns[1]),
    ]);
    const kept = outcomes.filter(({ status }) => status === "fulfilled");
    assertEquals(kept.length, parts === PARTS ? 2 : 1, JSON.stringify(outcomes));
    await using control = await Control.open(one, fail);
    const entry = control.campaigns().get(name)!;
    assertEquals((await specOf(one, name, entry.spec)).parts, entry.parts);
    assertEquals(await tasksOf(one, name), entry.parts);
  }
});
