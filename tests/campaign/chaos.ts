// deno-lint-ignore-file no-console
/** Campaigns whose processes and servers fail while they run: see chaos.sh. */
import { formatAddress, parseAddress } from "../../src/core/address.ts";
import { startPostgres } from "../postgres/server.ts";
import { Campaign, type CampaignPlan, LIMITS } from "./campaign_processes.ts";
import { checkPackets } from "./chaos_checks.ts";

const ONE: CampaignPlan = {
  ...{ name: "r1", servers: 600, range: "127.52.0.0/18", parts: 32, replicas: 1, rate: 1000 },
};
const THREE: CampaignPlan = {
  ...{ name: "r3", servers: 2000, range: "127.50.0.0/16", parts: 64, replicas: 3, rate: 4000 },
};
const LARGE: CampaignPlan = {
  ...{ name: "r3", servers: 5000, range: "127.48.0.0/14", parts: 512, replicas: 3, rate: 8000 },
};

/** The campaigns by the word of the command line. */
const PLANS: Record<string, readonly CampaignPlan[]> = {
  one: [ONE],
  three: [THREE],
  large: [LARGE],
};

/** Addresses without a server that opt out while the campaign runs. */
function optOuts({ plan: { range }, hosts }: Campaign): string[] {
  const base = parseAddress(range.split("/")[0]) as number;
  return Array.from({ length: 10_000 }, (_, i) => formatAddress(base + i))
    .filter((address, i) => i % 499 === 7 && !hosts.has(address));
}

async function run(plan: CampaignPlan): Promise<boolean> {
  await using postgres = await startPostgres();
  await using campaign = await Campaign.start(plan, `${postgres.url}postgres`);
  const { done } = campaign;
  await campaign.submit();
  await campaign.submit(); // changes nothing
  await campaign.poison(7);
  for (let i = 0; i < 4; i++) await campaign.startWorker();
  campaign.startCollectors();
  const at = async (share: number, what: string, act: () => Promise<void>) => {
    const count = Math.floor(share * plan.parts);
    await campaign.release(count + LIMITS.maxRunning);
    await done(count);
    await campaign.busy();
    await campaign.step(what, act);
  };
  await at(0.06, "kill -9 of a worker in the middle of parts", async () => {
    await campaign.killWorker();
    await campaign.startWorker();
  });
  await at(
    0.12,
    "SIGSTOP of a worker for 2.5 x ack_wait, then SIGCONT",
    () => campaign.freezeWorker(),
  );
  await at(0.2, "kill -9 of both collectors after a commit", () => campaign.killCollectors());
  await at(
    0.28,
    "kill -9 of the leading NATS server, its restart after 5 s",
    () => campaign.killLeader(),
  );
  await at(0.36, "the database stopped for 10 s", () => campaign.stopDatabase(postgres));
  await at(0.44, "pause for 6 s, and resume", () => campaign.pause());
  await at(0.5, "20 opt-outs", () => campaign.optOut(optOuts(campaign)));
  await campaign.release(plan.parts);
  await done(plan.parts - 1);
  await campaign.step("retry of the poisoned part", () => campaign.retry());
  await campaign.finished();
  const packets = await campaign.end();
  const faults = [
    ...campaign.faults,
    ...await campaign.checkRows(),
    ...await checkPackets(campaign, packets),
  ];
  faults.forEach((fault) => console.log(`FAILED: ${fault}`));
  return faults.length === 0;
}

let passed = 0;
const plans = PLANS[Deno.args[0]];
if (plans === undefined) throw new TypeError(`one, three or large, not ${Deno.args[0]}`);
for (const plan of plans) {
  console.log(`== ${plan.name}: ${plan.servers} servers in ${plan.range}, ${plan.parts} parts`);
  if (await run(plan)) passed++;
}
const failed = plans.length - passed;
console.log(`${failed === 0 ? "ok" : "FAILED"} | ${passed} passed | ${failed} failed`);
Deno.exit(failed === 0 ? 0 : 1);
