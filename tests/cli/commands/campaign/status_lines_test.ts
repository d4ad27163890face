/** Covers src/cli/commands/campaign/status_lines.ts. */
import { assert, assertEquals } from "@std/assert";
import { JSON_RESULTS } from "../../../../src/cli/term/json_results.ts";
import {
  campaignJson,
  statusLines,
  summaryLine,
} from "../../../../src/cli/commands/campaign/status_lines.ts";
import type { SystemStatus } from "../../../../src/campaign/status/read_status.ts";
import type { CampaignStatus, PartStatus } from "../../../../src/campaign/status/status.ts";

const PART: PartStatus = {
  part: 3,
  worker: "w1",
  tries: 1,
  at: 8000,
  position: 41,
  total: 100,
  rate: 120.4,
};
const CAMPAIGN: CampaignStatus = {
  name: "lab",
  state: "running",
  submittedAt: 1000,
  parts: { waiting: 36, held: 2, lost: 0, done: 25, poisoned: 1, cancelled: 0 },
  sent: 12_345,
  replies: 99,
  found: 1,
  share: 0.5,
  rate: 240.4,
  budget: 500,
  endsAt: 70_000,
  held: [PART, { ...PART, part: 7, rate: 120, position: 0, at: 9000 }],
  lost: [],
  failed: [],
  poisoned: [{ ...PART, part: 5, tries: 5, why: "an error\u001b[2J" }],
};
const STATUS: SystemStatus = {
  at: 10_000,
  campaigns: [CAMPAIGN],
  workers: [
    { id: "w1", slots: 4, engine: "udp", program: "0.1.0", at: 1000 },
    { id: "w2", slots: 2, engine: "portable", program: "0.1.0", at: 2000 },
  ],
  results: { messages: 12, bytes: 3 * 2 ** 19, limit: 2 ** 30, isFull: false },
  collectors: [{ name: "collect-x", pending: 3, unacknowledged: 1, isWaiting: true }],
};

Deno.test("the state of a campaign: parts, poisoned parts, workers, results and collectors", () => {
  assertEquals(statusLines(STATUS, Infinity), [
    "campaign lab running  50.0%  ETA 00:01:00  240/s of 500/s",
    "parts: 36 waiting, 2 held, 25 done, 1 poisoned",
    "12,345 packets sent, 99 replies, 1 server found",
    "part 5 is poisoned after 5 tries: an error␛[2J",
    "",
    "WORKER                    SLOTS  ENGINE    RATE        UPDATED    PARTS",
    "w1                        2/4    udp       240/s       1 s        3 (41%), 7 (0%)",
    "w2                        0/2    portable  0/s         8 s",
    "",
    "results in NATS: 12 messages, 1.5 of 1,024 MiB",
    "collect-x: 3 messages not delivered, 1 delivered and not yet written",
  ]);
  for (const line of statusLines(STATUS, 40)) assert(line.length <= 40, line);
});

Deno.test("what is missing is said: campaigns, workers, collectors, a usable spec, space for results", () => {
  assertEquals(statusLines({ ...STATUS, campaigns: [] }, 80), ["no campaigns"]);
  const results = { ...STATUS.results, isFull: true };
  const lines = statusLines({ ...STATUS, results, workers: [], collectors: [] }, Infinity);
  assertEquals(lines.slice(5), [
    "no workers",
    "",
    "results in NATS: 12 messages, 1.5 of 1,024 MiB; FULL: workers wait for a collector",
    "no collector has been started: rows wait in NATS",
  ]);
  const unlimited = summaryLine({ ...CAMPAIGN, budget: null, endsAt: undefined }, 0);
  assert(unlimited.includes("50.0%  240/s of no limit; parts: 36 waiting"), unlimited);
  const broken = summaryLine({ ...CAMPAIGN, budget: undefined }, 0);
  assert(broken.includes("240/s; its specification cannot be used"), broken);
});

Deno.test("parts that wait for another vantage have a line, while the campaign runs", () => {
  const [one, two] = [1, 2].map((waiting) => (
    { each: 2, done: 50, vantages: ["berlin", "os\u001blo"], waiting }
  ));
  const workers = [{ ...STATUS.workers[0], vantage: "berlin" }, STATUS.workers[1]];
  const lines = (more: Partial<CampaignStatus>) =>
    statusLines(
      { ...STATUS, workers, campaigns: [{ ...CAMPAIGN, poisoned: [], ...more }] },
      Infinity,
    );
  const views = "views: 50 of 128 done, 2 of each part from berlin, os␛lo";
  const next = "for another vantage: run campaign work --vantage NAME there";
  assertEquals(lines({ views: one }).slice(3, 6), [views, `1 part waits ${next}`, ""]);
  assertEquals(lines({ views: two })[4], `2 parts wait ${next}`);
  assertEquals(lines({ views: two, state: "paused" }).slice(3, 5), [views, ""]);
  const [head, first, second] = lines({}).slice(4).map((line) => line.replace(/ +/g, " "));
  assertEquals(head, "WORKER VANTAGE SLOTS ENGINE RATE UPDATED PARTS");
  assertEquals([first.split(" ")[1], second.split(" ")[1]], ["berlin", "default"]);
  const json = JSON.parse(campaignJson(STATUS, { ...CAMPAIGN, views: one }));
  assertEquals(json.views, one);
  assertEquals(JSON.parse(campaignJson(STATUS, CAMPAIGN)).views, null);
});

Deno.test("lost and failed parts have a line per worker, and a line with the last reason", () => {
  const lost = [{ ...PART, at: -83_000 }, { ...PART, part: 4, at: -90_000 }];
  const failed = [
    { ...PART, tries: 4, at: 1, why: "an error" },
    { ...PART, part: 2, at: 2, worker: "w2", why: "Cannot bind\u001b[2J" },
  ];
  const one = { ...CAMPAIGN, lost, failed, poisoned: [] };
  const lines = (campaign: CampaignStatus) =>
    statusLines({ ...STATUS, campaigns: [campaign] }, Infinity).slice(3, 5);
  assertEquals(lines(one), [
    "worker w1 has not reported for 93 s; its 2 parts wait for another worker",
    "2 parts failed (4 of 5 tries); the last: part 2, worker w2: Cannot bind␛[2J",
  ]);
  assertEquals(
    lines({ ...one, state: "cancelled", lost: lost.slice(1) })[0],
    "worker w1 has not reported for 100 s; campaign cancel lab ends its part",
  );
});

Deno.test("a collector that requests nothing, and full results without a part that waits", () => {
  const parts = { waiting: 0, held: 0, lost: 0, done: 64, poisoned: 0, cancelled: 0 };
  const campaigns = [{ ...CAMPAIGN, parts }];
  const results = { ...STATUS.results, isFull: true };
  const gone = { name: "collect-x", pending: 0, unacknowledged: 0, isWaiting: false };
  const collectors = [gone, { ...gone, unacknowledged: 9 }];
  assertEquals(statusLines({ ...STATUS, campaigns, results, collectors }, Infinity).slice(-3), [
    "results in NATS: 12 messages, 1.5 of 1,024 MiB",
    "collect-x: 0 messages not delivered, 0 delivered and not yet written, not running",
    "collect-x: 0 messages not delivered, 9 delivered and not yet written, not running, or writing",
  ]);
});

Deno.test("an end with poisoned parts is not called finished", () => {
  const parts = { waiting: 0, held: 0, lost: 0, done: 60, poisoned: 4, cancelled: 0 };
  const ended: CampaignStatus = { ...CAMPAIGN, state: "ended", parts, endsAt: undefined };
  const line = summaryLine(ended, 0);
  assert(line.startsWith("campaign lab ended with 4 poisoned parts  50.0%"), line);
});

Deno.test("with several campaigns, the parts of workers have the names of their campaigns", () => {
  const other = { ...CAMPAIGN, name: "b", held: [{ ...PART, part: 9 }], poisoned: [] };
  const lines = statusLines({ ...STATUS, campaigns: [CAMPAIGN, other] }, Infinity);
  const worker = lines.find((line) => line.startsWith("w1 "));
  assert(worker?.endsWith("  lab/3 (41%), lab/7 (0%), b/9 (41%)"), worker);
});

Deno.test("the JSON object of a campaign has the documented keys, and only its own workers", () => {
  const object = JSON.parse(campaignJson(STATUS, CAMPAIGN));
  assertEquals(Object.keys(object), Object.keys(JSON_RESULTS["campaign status"]));
  assertEquals(object.workers.map(({ id }: { id: string }) => id), ["w1"]);
  assertEquals(object.poisoned_parts, [{
    part: 5,
    worker: "w1",
    tries: 5,
    updated_at: 8000,
    position: 41,
    total: 100,
    rate: 120.4,
    why: "an error\u001b[2J",
  }]);
  assertEquals([object.ends_at, object.budget, object.results.is_full], [70_000, 500, false]);
  const unknown = JSON.parse(
    campaignJson(STATUS, { ...CAMPAIGN, endsAt: undefined, budget: null }),
  );
  assertEquals([unknown.ends_at, unknown.budget], [null, null]);
});
