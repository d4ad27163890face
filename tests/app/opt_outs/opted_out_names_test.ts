/**
 * Names in the opt-out file.
 *
 * Covers src/app/opt_outs/opted_out_names.ts.
 */
import { assertEquals } from "@std/assert";
import { OptOutFile } from "../../../src/app/opt_outs/opt_out_file.ts";
import { type Address, formatAddress } from "../../../src/core/address.ts";
import { InputError } from "../../../src/core/errors.ts";
import { OptedOutNames } from "../../../src/app/opt_outs/opted_out_names.ts";
import { systemClock } from "../../../src/net/clock.ts";
import type { ServiceFinder } from "../../../src/targets/srv.ts";
import { ManualClock } from "../../fakes/manual_clock.ts";

/** Lets promises settle that need no event. */
async function settle(): Promise<void> {
  for (let i = 0; i < 50; i++) await Promise.resolve();
}

/** An opt-out file whose names are looked up with a clock that stands still. */
interface Named {
  readonly list: OptOutFile;
  readonly reported: readonly string[];
  readonly at: { now: number };
  /** Replaces the lines of the file. */
  readonly write: (text: string) => Promise<void>;
  /** Compares the version as a scan does in each second, and returns the addresses. */
  readonly check: () => Promise<string>;
}

/** The lookups of names, without those of SRV records unless given. */
interface Resolver {
  readonly resolve: (name: string) => Promise<readonly Address[]>;
  readonly findService?: ServiceFinder;
}

/** Runs a test with an opt-out file. */
async function withNames(text: string, resolver: Resolver, test: (named: Named) => Promise<void>) {
  const path = await Deno.makeTempFile();
  try {
    const write = (content: string) => Deno.writeTextFile(path, content);
    await write(text);
    const [at, reported] = [{ now: 0 }, [] as string[]];
    const clock = { ...systemClock, now: () => at.now };
    const list = new OptOutFile(path, (line) => reported.push(line), { ...resolver, clock });
    let [known, starts] = ["", ""];
    const check = async () => {
      const version = await list.version();
      if (version !== known) {
        starts = (await list.read()).map(({ start }) => formatAddress(start)).join(" ");
      }
      known = version;
      return starts;
    };
    await test({ list, reported, at, write, check });
  } finally {
    await Deno.remove(path);
  }
}

Deno.test("names in the opt-out file are looked up in each minute, and keep the addresses that they had", async () => {
  let found: readonly Address[] = [0xffff_0000_0001n]; // ::ffff:0.0.0.1
  const resolve = () =>
    found.length > 0 ? Promise.resolve(found) : Promise.reject(new InputError("none"));
  const line = "play.example.org  2026-01-31  a@example.org  by mail\n";
  await withNames(line, { resolve }, async ({ at, check, reported, write }) => {
    assertEquals(await check(), "0.0.0.1");
    found = [2, 1];
    at.now = 59_999;
    assertEquals([await check(), await check()], ["0.0.0.1", "0.0.0.1"]);
    at.now = 60_000;
    assertEquals(await check(), "0.0.0.1", "it does not wait for the lookup");
    assertEquals(await check(), "0.0.0.1 0.0.0.2");
    found = [];
    for (at.now = 120_000; at.now < 300_000; at.now += 30_000) {
      assertEquals(await check(), "0.0.0.1 0.0.0.2");
    }
    assertEquals(reported, [
      'blocksweep: new addresses of "play.example.org", which the opt-out file names, are not left ' +
      "out: none",
    ]);
    await write("");
    assertEquals(await check(), "");
  });
});

Deno.test("names whose addresses rotate are looked up once a minute, all others too", async () => {
  const lookups = { "rotating.example.org": 0, "other.example.org": 0 };
  const resolve = (name: string) =>
    Promise.resolve([++lookups[name as keyof typeof lookups] + (name.startsWith("r") ? 256 : 0)]);
  const text = `${Object.keys(lookups).join("\n")}\n`;
  await withNames(text, { resolve }, async ({ at, check }) => {
    for (; at.now < 180_000; at.now += 1000) await check();
    assertEquals(lookups, { "rotating.example.org": 3, "other.example.org": 3 });
    assertEquals(await check(), "0.0.1.1 0.0.1.2 0.0.1.3 0.0.0.1 0.0.0.2 0.0.0.3");
  });
});

Deno.test("lookups that take minutes are not started again, and a new name is looked up at once", async () => {
  const pending: (() => void)[] = [];
  let [delays, started] = [false, 0];
  const resolve = (name: string) => {
    started++;
    return delays
      ? new Promise<Address[]>((done) => pending.push(() => done([9])))
      : Promise.resolve([name.length]);
  };
  const names = Array.from({ length: 20 }, (_, i) => `n${i}.example.org\n`).join("");
  await withNames(names, { resolve }, async ({ list, at, check, write }) => {
    await check();
    assertEquals(started, 20);
    delays = true;
    for (; at.now < 300_000; at.now += 1000) {
      await list.version();
      await list.read();
    }
    assertEquals([started, pending.length], [36, 16]);
    delays = false;
    for (const end of pending) end();
    await write(`${names}a.example.org\n`);
    for (let i = 0; i < 3; i++) await check();
    assertEquals((await check()).split(" ").at(-1), "0.0.0.13");
  });
});

Deno.test("the target of a name's SRV record is left out too", async () => {
  const hosts: Readonly<Record<string, Address>> = { "play.example.org": 1, "mc.example.net": 2 };
  const resolve = (name: string) => Promise.resolve([hosts[name]]);
  const findService = (name: string) =>
    Promise.resolve(
      name === "play.example.org" ? { host: "mc.example.net", port: 25570 } : undefined,
    );
  await withNames("play.example.org\n", { resolve, findService }, async ({ check }) => {
    assertEquals(await check(), "0.0.0.1 0.0.0.2");
  });
});

Deno.test("a name server that does not reply delays no other name, and is reported after 30 s", async () => {
  const clock = new ManualClock();
  const reported: string[] = [];
  const resolve = (name: string) =>
    name.startsWith("slow") ? new Promise<Address[]>(() => {}) : Promise.resolve([7]);
  const names = new OptedOutNames({ resolve, clock }, (line) => reported.push(line));
  names.set(new Set(["slow.example.org"]));
  const lookups = names.lookUp();
  names.set(new Set(["slow.example.org", "new.example.org"]));
  void names.lookUp();
  await settle();
  assertEquals(names.found, 1);
  clock.move(30_000);
  await lookups;
  assertEquals(reported, [
    'blocksweep: new addresses of "slow.example.org", which the opt-out file names, are not left ' +
    "out: the name servers do not reply",
  ]);
});

Deno.test("a failed lookup of an SRV record is reported, and hides no later failure of the name", async () => {
  let isFound = true;
  const resolve = () => isFound ? Promise.resolve([1]) : Promise.reject(new InputError("none"));
  const findService = () => Promise.reject(new InputError("refused"));
  const words = (what: string, why: string) =>
    `blocksweep: ${what} "play.example.org", which the opt-out file names, are not left out: ${why}`;
  await withNames(
    "play.example.org\n",
    { resolve, findService },
    async ({ at, check, reported }) => {
      assertEquals(await check(), "0.0.0.1");
      const service = words("addresses of the server in the SRV record of", "refused");
      assertEquals(reported, [service]);
      isFound = false;
      at.now = 60_000;
      await check();
      await settle();
      assertEquals(reported, [service, words("new addresses of", "none")]);
    },
  );
});
