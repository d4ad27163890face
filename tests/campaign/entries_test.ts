/** Covers src/campaign/entries.ts: what a broken or hostile worker writes stops no command. */
import { assertEquals } from "@std/assert";
import { LEASE_BUCKET } from "../../src/campaign/names.ts";
import { connectBroker } from "../../src/campaign/nats/connection.ts";
import { run, SCAN } from "../cli/program.ts";
import { deepJson } from "./deep_json.ts";
import { natsTest, startNats } from "./nats_server.ts";

const DEEP = "it has more than 200 levels of objects and lists";
const NO_KEY = "it is neither the key of a lease nor of a worker";

natsTest("bad entries of workers are reported and skipped, and stop no command", async () => {
  await using server = await startNats();
  const campaign = async (...words: string[]) => {
    const permissions = [...SCAN, "--allow-net=127.0.0.0/8,0.0.0.0"];
    const { code, stderr } = await run(["campaign", ...words, "--nats", server.url], {
      permissions,
    });
    return { code, lines: stderr.trimEnd().split("\n") };
  };
  const submit = ["submit", "127.1.0.0/23", "--name", "lab", "--parts", "2", "--seed", "1"];
  assertEquals((await campaign(...submit)).code, 0);
  await using broker = await connectBroker({ nats: server.url }, "test");
  const bucket = await broker.bucket(LEASE_BUCKET);
  const deep = deepJson(9000);
  const poisoned = {
    ...{ state: "poisoned", worker: "w1", tries: 5, at: 1, marks: null, rate: 0 },
    counters: { sent: 0, replies: 0, found: 0, position: 0, total: 0 },
  };
  await bucket.put("worker.w1", `{"slots":${deep},"program":"1.0.0","at":1,"clockOffsetMs":0}`);
  await bucket.put("lease.lab.1", JSON.stringify(poisoned).replace("null", deep));
  for (const key of ["lease.lab.x", "lease.lab.1e0", "lease.lab.5000", "worker.a.b"]) {
    await bucket.put(key, JSON.stringify(poisoned));
  }
  await bucket.put("lease.lab.3", JSON.stringify(poisoned)); // the campaign has two parts
  const skipped = (key: string, why: string) =>
    `blocksweep: the key "${key}" of BS_LEASES is skipped: ${why}`;
  const ofCampaign = [
    skipped("lease.lab.1", DEEP),
    skipped("lease.lab.x", NO_KEY),
    skipped("lease.lab.1e0", NO_KEY),
    skipped("lease.lab.5000", NO_KEY),
    skipped("worker.w1", DEEP),
  ];
  const status = await campaign("status");
  const all = [...ofCampaign, skipped("worker.a.b", NO_KEY)];
  assertEquals([status.code, status.lines.toSorted()], [0, all.toSorted()]);
  for (
    const [words, line] of [
      [["status", "lab"], undefined],
      [
        ["pause", "lab"],
        "campaign lab is paused; its workers stop, and keep the progress of their parts",
      ],
      [["retry", "lab"], "campaign lab has no poisoned parts"],
      [["cancel", "lab"], "campaign lab is cancelled"],
      [["remove", "lab"], "campaign lab is removed, with results that not all databases have"],
    ] as const
  ) {
    const { code, lines } = await campaign(...words);
    assertEquals(
      [code, lines],
      [0, [...ofCampaign, ...line === undefined ? [] : [line]]],
      words[0],
    );
    // A cancel ends the part whose lease cannot be read.
    if (words[0] === "cancel") ofCampaign.shift();
  }
});
