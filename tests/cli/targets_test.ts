import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { parseAddress } from "../../src/address.ts";
import { clockTime, planScan, requirePermission } from "../../src/cli/plan.ts";
import { collectTargets, type TargetInput } from "../../src/cli/targets.ts";
import { InputError } from "../../src/errors.ts";
import { PROTOCOLS } from "../../src/protocols/mod.ts";
import { usualPorts } from "../../src/targets/lists.ts";

const NAMES: Record<string, readonly string[]> = {
  "two.example": ["10.0.0.1", "fc00::1"],
  "same.example": ["10.0.0.1"],
};

const resolve = (name: string) => {
  const found = NAMES[name];
  if (found === undefined) throw new InputError(`Cannot find host "${name}"`);
  return Promise.resolve(found.map((text) => parseAddress(text)!));
};

const collect = (input: Partial<TargetInput>) =>
  collectTargets(
    { words: [], files: [], exclude: [], excludeFiles: [], optedOut: [], ...input },
    resolve,
  );

Deno.test("words, lists, files and names become targets", async () => {
  const { targets, names } = await collect({
    words: ["10.0.0.0/30,10.0.0.9", "two.example"],
    files: [{ text: "10.0.1.1:99 # home\n10.0.1.2", source: "list.txt" }],
  });
  assertEquals(targets.size, 4n + 1n + 1n + 2n);
  assertEquals([...names], [[0x0a000001, "two.example"], [
    parseAddress("fc00::1")!,
    "two.example",
  ]]);
  assert(targets.groups.some(({ ports, usual }) => ports.join() === "99" && !usual));
});

Deno.test("exclusions come from words, files and names", async () => {
  const { targets } = await collect({
    words: ["10.0.0.0/24"],
    exclude: ["10.0.0.0/28", "same.example"],
    excludeFiles: [{ text: "10.0.0.128/25\n", source: "no.txt" }],
  });
  assertEquals(targets.size, 256n - 16n - 128n);
});

Deno.test("who opted out keeps a place in the order, and is counted", async () => {
  const input = { words: ["10.0.0.0/24"], optedOut: [{ start: 0x0a000020, end: 0x0a000022 }] };
  const { targets, optedOut, optedOutSize } = await collect(input);
  assertEquals([targets.size, optedOut, optedOutSize], [256n, input.optedOut, 2n]);
});

Deno.test("what cannot be asked is refused with the reason", async () => {
  const refused = (input: Partial<TargetInput>, message: string) =>
    assertRejects(() => collect(input), InputError, message);
  await refused({}, "Cannot scan nothing");
  await refused({ words: ["unknown.example"] }, 'Cannot find host "unknown.example"');
  await refused({ words: ["224.0.0.1"] }, "never asked: multicast");
  await refused(
    { words: ["10.0.0.1"], exclude: ["10.0.0.0/8"] },
    "nothing is left of the targets (excluded, or opted out)",
  );
  await refused(
    { words: ["9.255.255.255-10.0.0.1"], exclude: ["9.0.0.0/8"] },
    "private, and asked only when",
  );
  await refused(
    { files: [{ text: "10.0.0.1\n10.0.0.0/33", source: "list.txt" }] },
    "list.txt:2: Cannot parse",
  );
  await refused(
    { files: [{ text: "", source: "standard input" }] },
    "Cannot use standard input: it holds no targets",
  );
});

async function plan(words: string[], limits = { rate: 1000, netRate: 50, hostRate: 5 }, over = {}) {
  const { targets } = await collect({ words });
  const protocols = PROTOCOLS.slice(0, 1);
  const input = { protocols, ports: usualPorts(), seed: 1, shard: { index: 1, count: 1 } };
  const from = { pass: 1, position: 0 };
  const rest = { from, maxTargets: Infinity, retries: 1, limits };
  return { targets, plan: planScan({ ...input, ...rest, targets, ...over }) };
}

Deno.test("the plan knows which limit governs", async () => {
  const wide = await plan(["10.0.0.0/16"]);
  assertEquals([wide.plan.governor, wide.plan.passes.udp.sizes], ["rate", [65536, 65536]]);
  assertEquals(wide.plan.seconds, 2 * 65.536);
  const narrow = await plan(["10.0.0.0/24"]);
  assertEquals([narrow.plan.governor, narrow.plan.seconds], ["net-rate", 2 * 256 / 50]);
  const ports = () => Array.from({ length: 1000 }, (_, i) => i + 1);
  const host = await plan(["10.0.0.1"], undefined, { ports });
  assertEquals([host.plan.governor, host.plan.seconds], ["host-rate", 2 * 1000 / 5]);
  const none = { rate: undefined, netRate: undefined, hostRate: undefined };
  assertEquals((await plan(["127.0.0.1"], none as never)).plan.governor, "nothing");
  assertEquals([clockTime(0.2), clockTime(3725), clockTime(Infinity)], [
    "00:00:01",
    "01:02:05",
    "?",
  ]);
});

Deno.test("public addresses, and very many, need the user's word", async () => {
  const asks = async (...words: string[]) => {
    const made = await plan(words);
    assertThrows(
      () => requirePermission(made.targets, made.plan, false),
      InputError,
      "--i-have-permission",
    );
    requirePermission(made.targets, made.plan, true);
  };
  await asks("8.8.8.8");
  await asks("10.0.0.0/8");
  await asks("2600::/120");
  for (const free of ["10.0.0.0/12", "192.168.0.0/16", "127.0.0.0/8", "fc00::/112"]) {
    const made = await plan([free]);
    requirePermission(made.targets, made.plan, false);
  }
});
