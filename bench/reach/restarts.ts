/** Kills of the process, the time to resume, memory, and the whole of IPv4. */
import { Random } from "../../src/fleet/random.ts";
import { type Case, decimals, mean, print } from "./case.ts";
import { cpuMs, Run } from "./explore.ts";
import { createPlanet, createWorld, SIZE } from "./world.ts";

const KILLS = 100;

/** Resumes a run, and returns the CPU time, in seconds. */
function resumeSeconds(run: Run): number {
  const started = cpuMs();
  run.resume();
  return (cpuMs() - started) / 1000;
}

/** The servers of a run's hits, by pass, in a fixed order, and the digests. */
export function resultsOf({ passes }: Run): string {
  return JSON.stringify(passes.map(({ digest, result: { hits } }) => [
    digest,
    hits.map(({ address, port }) => `${address}:${port}`).sort(),
  ]));
}

/** Kills. */
export const kills: Case = {
  purpose: "100 kills at random moments, each with a replay of the recorded passes",
  seeds: [6],
  run([seed]) {
    const exploration = {
      world: createWorld(seed),
      budget: 0.5 * SIZE,
    } as const;
    const whole = Run.of(exploration);
    const draws = new Random(seed);
    const moments = Array.from({ length: KILLS }, () => draws.below(whole.passes.length));
    const killed = new Run(exploration);
    const at = (pass: number) => moments.filter((moment) => moment === pass).length;
    while (killed.step(at(killed.passes.length)));
    const isEqual = resultsOf(whole) === resultsOf(killed);
    const seconds = resumeSeconds(killed);
    print(
      `${KILLS} kills`,
      ["passes", "servers", "plans and servers", "resume at the end, CPU s"],
      [
        [whole.passes.length, whole.replies.found, isEqual ? "equal" : "differ", decimals(seconds)],
      ],
    );
    return [
      { figure: "equal after kills", value: isEqual ? 1 : 0, least: 1 },
      { figure: "resume of the world, CPU s", value: seconds, most: 10 },
    ];
  },
};

/** All IPv4. */
export const ipv4: Case = {
  purpose: "all IPv4 with 201 ports: time of plans, memory, time to resume",
  seeds: [6],
  run([seed]) {
    const world = createPlanet(seed);
    const before = Deno.memoryUsage().rss;
    const empty = new Run({ world, budget: 0 }).discovery.bytes;
    const run = Run.of({
      world,
      budget: 0.5 * Number(world.addresses.size),
    });
    const { passes, discovery, all } = run;
    const rss = Deno.memoryUsage().rss - before;
    const plans = passes.map(({ planMs }) => planMs);
    const seconds = resumeSeconds(run);
    const share = all.at(all.end) / world.servers.length;
    print("All IPv4", [
      "servers",
      "found",
      "passes",
      "plan, CPU ms",
      "most",
      "bytes at first",
      "bytes",
      "RSS, bytes",
      "resume, CPU s",
    ], [[
      world.servers.length,
      decimals(share),
      passes.length,
      decimals(mean(plans)),
      decimals(Math.max(...plans)),
      empty,
      discovery.bytes,
      rss,
      decimals(seconds),
    ]]);
    return [
      { figure: "plan of all IPv4, CPU ms a pass", value: mean(plans), most: 400 },
      { figure: "memory of all IPv4, MB", value: discovery.bytes / 1e6, most: 50 },
      { figure: "resume of all IPv4, CPU s", value: seconds, most: 40 },
    ];
  },
};
