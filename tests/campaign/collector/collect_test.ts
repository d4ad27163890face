/** Covers src/campaign/collector/ and, by its requests for results, src/campaign/nats/fetch_messages.ts. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { InputError } from "../../../src/core/errors.ts";
import { ATTACHMENTS } from "../../../src/core/record.ts";
import { removeCampaign } from "../../../src/campaign/change/change_campaign.ts";
import { RESULTS, resultSubject } from "../../../src/campaign/names.ts";
import { beganAt } from "../../../src/scan/setup/scan_id.ts";
import { copyDatabase } from "../../../src/store/copy/copy_database.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { createTablesForCopy } from "../../../src/store/schema/create_tables.ts";
import { writeScanRecords } from "../../../src/store/writers/scan_writer.ts";
import { newestScans } from "../../../src/store/scans/scan_list.ts";
import { listedParts } from "../../../src/store/parts/part_list.ts";
import { all, STATES, storedServers } from "../../store/databases.ts";
import { scanId } from "../../store/records.ts";
import { deepJson } from "../deep_json.ts";
import { until } from "../nats_server.ts";
import { collectorTest, ID, type Lab, NAME, partEnd, row } from "./lab.ts";
import { longTest } from "../../long.ts";

const [PART_1, PART_2] = [0x0a000001, 0x0a000101];

/** Counts rows of tables. */
async function counts({ database }: Lab, ...tables: string[]): Promise<number[]> {
  const rows = tables.map((one) => all(database, `select count(*) as n from ${one}`));
  return (await Promise.all(rows)).map(([{ n }]) => Number(n));
}

async function scan({ database }: Lab) {
  const [{ state, found, probes_sent, parts_done, parts_running }] = await newestScans(database, 1);
  return { state, found, probes_sent, parts_done, parts_running };
}

collectorTest(
  "rows reach the database once, and the scan ends when all parts have ended",
  async (lab) => {
    const { database } = lab;
    const before = beganAt(ID) - 60_000;
    const known = [PART_1 + 1, PART_2 + 1, 0x0b000001]
      .map((host) => row(host, { scan_id: scanId(7), seen_at: before }));
    await writeScanRecords(database, known);
    await lab.submit();
    await lab.rows(1, [row(PART_1), row(PART_1 + 1)]);
    await lab.end(1, "done");
    await lab.rows(2, [row(PART_2)]);
    await lab.end(2, "done");
    const [first, second] = [lab.collector({ campaign: NAME }), lab.collector({ campaign: NAME })];
    await Promise.all([first.ended, second.ended]);
    const ofScan = (table: string) =>
      `(select 1 from ${table} o join scans c on c.id = o.scan where c.uuid = '${ID}') x`;
    // Three servers replied, one of which was known, and one known server is missing.
    const tables = ["servers", ofScan("observations"), ofScan("scan_servers")];
    assertEquals(await counts(lab, ...tables), [5, 4, 0]);
    assertEquals(await scan(lab), {
      ...{ state: "finished", found: 2, probes_sent: 512, parts_done: 2, parts_running: 0 },
    });
    const missing = await all(database, `select host from ${STATES} where missed_scans > 0`);
    assertEquals(missing.map(({ host }) => String(host)), ["10.0.1.2"]);
    const ended = [...first.lines, ...second.lines].filter((line) => line.includes("finished"));
    assertEquals(ended, ["campaign lab: finished; 1 known server did not reply"]);
    await until(async () => await lab.waiting() === 0);
  },
);

collectorTest(
  "each wrong row is refused or corrected with a line, and nothing else is lost",
  async (lab) => {
    await lab.submit();
    const good = row(PART_1 + 9);
    const wrong: [string, Parameters<Lab["rows"]>[1][number]][] = [
      ["is no target of the part", row(PART_2)],
      ["is no target of the part", row(0x0b000001)],
      ["is no target of the part", row(PART_1, { port: 1 })],
      ["is a row of another scan", row(PART_1, { scan_id: scanId(9) })],
      ["is a row of another scan", row(PART_1, { scan_id: null })],
      ["has a name that was not requested", row(PART_1, { requested_as: "play.example.org" })],
      ["has a protocol that does not exist", row(PART_1, { protocol: "x", protocols: ["x"] })],
      ["has a missing or wrong column", row(PART_1, { players_online: "9" as never })],
      ["has a missing or wrong column", row(PART_1, { host: "'; drop table servers" })],
    ];
    for (const [, one] of wrong) await lab.rows(1, [one, good]);
    const line = JSON.stringify(good);
    await lab.publish(1, "rows", `{"host":\n${line}\n[]\n`);
    await lab.publish(1, "rows", `{"x":"${"x".repeat(600_000)}"}\n${line}\n`);
    const icon = { replies: {}, icon: btoa("icon") };
    const future = Date.now() + 86_400_000;
    await lab.rows(1, [row(PART_1, { seen_at: future })]);
    await lab.rows(1, [row(PART_1 + 1, { favicon_hash: "0".repeat(64), [ATTACHMENTS]: icon })]);
    for (const slp of [{ size: -1, data: "" }, { size: 1, data: "A" }]) {
      await lab.rows(1, [row(PART_1 + 2, { [ATTACHMENTS]: { replies: { slp } } })]);
    }
    await lab.publish(1, "done", JSON.stringify({ ...partEnd(), coverage: undefined }));
    await lab.publish(1, "done", "no JSON");
    const counters = deepJson(9000);
    await lab.publish(1, "rows", `{"extras":${deepJson(9000)}}\n${line}\n`);
    await lab.publish(1, "done", `{"form":1,"worker":"w","tries":1,"counters":${counters}}`);
    await lab.publish(3, "rows", line);
    await lab.rows(1, [good], "other");
    await lab.broker.js.publish("bs.results.nonsense", "x");
    await lab.broker.js.publish(resultSubject(NAME, 1, "rows", "berlin"), line);
    const collector = lab.collector({ once: true });
    await collector.ended;
    const expected = [
      ...wrong.map(([why]) => why),
      ...["a row is no JSON object", "a row is larger than 512 KiB", "has a wrong time"],
      ...["icon with another hash", "attachments.replies.slp.size", "attachments.replies.slp.data"],
      ...["coverage is missing", "it is not JSON"],
      ...["a row is no JSON object, or nested too deeply", "it has more than 200 levels"],
      ...["there is no such part", "there is no such campaign", "subject"],
      `the subject "bs.results.lab.1.rows.berlin" names a vantage`,
    ];
    const lines = collector.lines.slice(1);
    assertEquals(lines.length, expected.length, lines.join("\n"));
    for (const [i, why] of expected.entries()) assertStringIncludes(lines[i], why);
    assertStringIncludes(
      lines[0],
      "blocksweep: campaign lab, part 1: ignored 1 of 2 rows: 10.0.1.1:25565",
    );
    const servers = await storedServers(lab.database);
    assertEquals(servers.map(({ host }) => host).sort(), [
      "10.0.0.1",
      "10.0.0.10",
      "10.0.0.2",
      "10.0.0.3",
    ]);
    assert(servers.every(({ seen_at }) => seen_at < future - 3_600_000));
    assertEquals(await counts(lab, "favicons", "replies"), [0, 0]);
    assertEquals((await scan(lab)).parts_done, 0);
    await until(async () => await lab.waiting() === 0);
  },
);

collectorTest("results that are delivered again after their commit change nothing", async (lab) => {
  const { broker, consumer } = lab;
  await lab.submit();
  // Another database has not stored the results yet: they stay in the stream.
  await broker.jsm.consumers.add(RESULTS, {
    durable_name: "collect-other",
    ack_policy: "explicit",
  });
  await lab.rows(1, [row(PART_1), row(PART_1 + 1, { motd: "other" })]);
  await lab.end(1, "done");
  await lab.end(2, "poisoned", { why: "no route", tries: 5, coverage: undefined });
  await lab.collector({ once: true }).ended;
  const tables = ["servers", "observations", "events", "scan_parts"];
  const [before, row1] = [await counts(lab, ...tables), await scan(lab)];
  assertEquals([before.slice(0, 2), row1.state], [[2, 2], "interrupted"]);
  assertEquals((await listedParts(lab.database, ID)).poisoned_parts[0].why, "no route");
  assertEquals(await lab.waiting(), 3);
  await broker.jsm.consumers.delete(RESULTS, consumer); // as if nothing had been acknowledged
  await lab.collector({ once: true }).ended;
  assertEquals([await counts(lab, ...tables), await scan(lab)], [before, row1]);
  assertEquals((await newestScans(lab.database, 1))[0].runs, 1);
}, longTest);

collectorTest(
  "while the database refuses, nothing is acknowledged, and nothing is lost",
  async (lab) => {
    const { broker, consumer, database } = lab;
    await lab.submit();
    await database.script("alter table scan_parts rename to hidden");
    await lab.rows(1, [row(PART_1)]);
    await lab.end(1, "done");
    const collector = lab.collector();
    await until(() => collector.lines.some((line) => line.includes("; rows wait in NATS")));
    const { ack_floor, num_ack_pending } = await broker.jsm.consumers.info(RESULTS, consumer);
    assertEquals([ack_floor.stream_seq, num_ack_pending], [0, 2]);
    assertEquals(await counts(lab, "servers"), [0]);
    await database.script("alter table hidden rename to scan_parts");
    await until(async () => await lab.waiting() === 0);
    await collector.stop();
    assertEquals([await counts(lab, "servers"), (await scan(lab)).parts_done], [[1], 1]);
    const troubles = collector.lines.slice(1);
    assertEquals(troubles.length, 2, troubles.join("\n"));
    assertStringIncludes(troubles[1], "can be written to again");
  },
);

collectorTest(
  "the progress of parts is written, and a retried part makes the scan run again",
  async (lab) => {
    await lab.submit();
    const collector = lab.collector();
    const counters = { sent: 9, replies: 1, found: 1, position: 100, total: 256 };
    await lab.lease(1, { state: "held", tries: 1, counters, worker: "w7" });
    await until(async () => (await listedParts(lab.database, ID)).running_parts.length > 0);
    const [{ worker, position }] = (await listedParts(lab.database, ID)).running_parts;
    assertEquals([worker, position, await scan(lab)], ["w7", 100, {
      ...{ state: "running", found: 1, probes_sent: 9, parts_done: 0, parts_running: 1 },
    }]);
    await lab.end(1, "done");
    await lab.end(2, "poisoned", { tries: 5, coverage: undefined });
    await until(async () => (await scan(lab)).state === "interrupted");
    await lab.lease(2, { state: "released", tries: 0 });
    await until(async () => (await scan(lab)).state === "running");
    await lab.end(2, "done");
    await until(async () => (await scan(lab)).state === "finished");
    await collector.stop();
    const [{ runs, campaign }] = await newestScans(lab.database, 1);
    assertEquals([runs, campaign], [2, NAME]);
  },
  longTest,
);

collectorTest(
  "parts of a cancelled campaign that no worker holds count as cancelled",
  async (lab) => {
    await lab.submit({ ackWaitMs: 1000 });
    const collector = lab.collector({ campaign: NAME });
    await lab.lease(1, { state: "held", tries: 1 });
    await lab.control.setState(NAME, "cancelled");
    await collector.ended;
    const { state, parts_cancelled } = (await newestScans(lab.database, 1))[0];
    assertEquals([state, parts_cancelled], ["interrupted", 2]);
    assertEquals(
      collector.lines.at(-1),
      "campaign lab: interrupted; 0 known servers did not reply",
    );
  },
);

collectorTest(
  "servers whose replies a worker may have missed do not count as missing",
  async (lab) => {
    const known = [PART_1 + 1, PART_2 + 1, PART_2 + 2, PART_2 + 3, PART_2 + 4];
    const before = { scan_id: scanId(7), seen_at: beganAt(ID) - 60_000 };
    await writeScanRecords(lab.database, known.map((host) => row(host, before)));
    await lab.submit();
    await lab.control.addOptOut(PART_2 + 4, "w1");
    await lab.end(1, "done");
    const { coverage } = partEnd();
    const lost = { flooding: ["10.0.1.2"], excluded: ["10.0.1.3-10.0.1.3"] };
    await lab.end(2, "done", { coverage: { ...coverage!, ...lost } });
    await lab.collector({ campaign: NAME }).ended;
    const missing = await all(
      lab.database,
      `select host from ${STATES} where missed_scans > 0 order by host`,
    );
    assertEquals(missing.map(({ host }) => String(host)), ["10.0.0.2", "10.0.1.4"]);
  },
);

collectorTest("a collector goes on after its NATS server was killed", async (lab) => {
  await lab.submit();
  await lab.rows(1, [row(PART_1)]);
  const collector = lab.collector();
  await until(async () => (await counts(lab, "servers"))[0] === 1);
  await lab.server.stop("SIGKILL");
  await until(() => collector.lines.some((line) => line.includes("Cannot use NATS")));
  await lab.server.start();
  await until(() => collector.lines.some((line) => line.includes("replies again")));
  await until(() => lab.waiting().then(() => true, () => false));
  await lab.rows(2, [row(PART_2)]);
  await until(async () => (await counts(lab, "servers"))[0] === 2);
  await collector.stop();
}, longTest);

collectorTest("opt-outs are written into the database and the opt-out file", async (lab) => {
  await lab.submit();
  await lab.rows(1, [row(PART_1)]);
  await Deno.writeTextFile(`${lab.folder}/out.txt`, "10.0.0.8/30  of its owner\n");
  for (const [i, by] of ["worker w1", "campaign opt-out", "x"].entries()) {
    await lab.control.addOptOut(PART_1 + i * 4, by); // the last one is in the file
    const collector = lab.collector();
    await until(async () => (await counts(lab, "opt_outs"))[0] === i + 1);
    await collector.stop();
  }
  const lines = (await Deno.readTextFile(`${lab.folder}/out.txt`)).trim().split("\n");
  assertEquals(lines.map((line) => line.replace(/\b20[\d-]{8}\b/, "DATE")), [
    "10.0.0.8/30  of its owner",
    "10.0.0.1  DATE  NATS  shared by worker w1",
    "10.0.0.5  DATE  NATS  shared by campaign opt-out",
  ]);
});

collectorTest("results of another version's campaign hold back no other campaign", async (lab) => {
  const { broker, consumer, control } = lab;
  await lab.submit({ name: "old", program: "0.0.9" });
  await lab.rows(1, [row(PART_1)], "old");
  await lab.submit({ name: "nu" });
  for (const part of [1, 2]) await lab.publish(part, "done", JSON.stringify(partEnd()), "nu");
  await lab.rows(2, [row(PART_2)], "old");
  await assertRejects(() => lab.collector({ campaign: "old" }).ended, InputError, "old");
  const collector = lab.collector({ campaign: "nu" });
  await collector.ended;
  assertEquals((await scan(lab)).state, "finished");
  const lines = collector.lines.filter((line) => line.includes("campaign old"));
  assertEquals(lines.length, 1, lines.join("\n"));
  assertStringIncludes(
    lines[0],
    "results of campaign old stay in NATS for a collector of version 0.0.9; " +
      "campaign cancel old and campaign remove old remove them",
  );
  await lab.collector({ once: true }).ended;
  assertEquals([await counts(lab, "servers"), await lab.waiting()], [[0], 2]);
  const parts = { waiting: 0, held: 0, lost: 0, done: 2, poisoned: 0, cancelled: 0 };
  const old = { name: "old", state: "cancelled", parts } as const;
  await assertRejects(
    () => removeCampaign(broker, control, { ...old, state: "finished" }),
    InputError,
    `not all of its results are written yet (${consumer}-old); run campaign collect`,
  );
  assertEquals(await removeCampaign(broker, control, old), false);
  const { consumers } = broker.jsm;
  assertEquals((await Array.fromAsync(consumers.list(RESULTS))).map(({ name }) => name), [
    consumer,
  ]);
  assertEquals([await lab.waiting(), control.campaigns().has("old")], [0, false]);
});

collectorTest("a database and its copy both get all rows of a campaign", async (lab) => {
  await lab.submit();
  const output = `${lab.folder}/copy.db`;
  await using copy = openSqlite(output);
  await createTablesForCopy(copy);
  await copyDatabase(lab.database, copy, { report: () => {} });
  const collectBoth = async () => {
    await lab.collector({ once: true }).ended;
    await lab.collector({ once: true, output }).ended;
  };
  await collectBoth(); // the rows of a campaign stay in NATS for collectors that have begun
  await lab.rows(1, [row(PART_1), row(PART_1 + 1)]);
  await lab.end(1, "done");
  await lab.rows(2, [row(PART_2)]);
  await lab.end(2, "done");
  await collectBoth();
  for (const database of [lab.database, copy]) {
    assertEquals(await counts({ ...lab, database }, "servers", "observations"), [3, 3]);
    assertEquals((await scan({ ...lab, database })).state, "finished");
  }
}, longTest);

collectorTest("a collector of the right version writes what others have left", async (lab) => {
  const { broker, consumer } = lab;
  await lab.submit({ name: "old", program: "0.0.9" });
  await lab.rows(1, [row(PART_1)], "old");
  for (const part of [1, 2]) await lab.publish(part, "done", JSON.stringify(partEnd()), "old");
  await lab.collector({ once: true }).ended;
  const { num_pending, num_ack_pending } = await broker.jsm.consumers.info(RESULTS, consumer);
  assertEquals([num_pending, num_ack_pending, await lab.waiting()], [0, 0, 3]);
  await lab.rows(2, [row(PART_2)], "old");
  await lab.collector({ campaign: "old" }, "0.0.9").ended;
  assertEquals([await counts(lab, "servers"), (await scan(lab)).state], [[2], "finished"]);
  assertEquals(await lab.waiting(), 0);
}, longTest);

collectorTest("a collector needs a database, and a campaign that exists", async (lab) => {
  await assertRejects(
    () => lab.collector({ output: "rows.csv" }).ended,
    InputError,
    'Cannot write rows to "rows.csv": expected a .db file or a postgres: URL',
  );
  await assertRejects(
    () => lab.collector({ output: undefined }).ended,
    InputError,
    "name a database",
  );
  const output = `${lab.folder}/new.db`;
  await assertRejects(
    () => lab.collector({ campaign: "none", output }).ended,
    InputError,
    "no campaign",
  );
  const nats = "nats://127.0.0.1:1";
  await assertRejects(() => lab.collector({ output, nats }).ended, InputError, "no server listens");
  await assertRejects(() => Deno.stat(output), Deno.errors.NotFound);
});
